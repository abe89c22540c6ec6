"""The app and the report in a real browser, as a user meets them."""
