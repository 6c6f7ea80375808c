"""What came of a study: participants, status, analysis, exports, and a release for everybody."""
