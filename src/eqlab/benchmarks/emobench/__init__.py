"""EmoBench (Sabour et al., ACL 2024, arXiv 2402.12071): which emotion, why, and what had best be done."""
