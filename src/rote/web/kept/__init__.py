"""What the app keeps: results, jobs' records, uploads, the last answers."""
