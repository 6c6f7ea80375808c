"""`eqlab view`: screens over a store, live, made of the same components as the report and the leaderboard."""
