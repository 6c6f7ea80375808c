"""What leaves the house: reports, leaderboards, exports, other tools' formats."""
