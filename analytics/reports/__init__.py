"""Reports: a week told to people, as figures, a page of HTML, charts."""
