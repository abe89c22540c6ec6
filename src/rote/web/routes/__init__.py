"""Every file is one page of the app: `router` holds its page and its API (under `/api`)."""
