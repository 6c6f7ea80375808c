"""The study's web server: participants' pages, the researcher's page, the JSON API."""
