"""The leaderboard: a static site from runs, published results and submissions; and what makes a submission."""
