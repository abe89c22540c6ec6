"""Models behind an endpoint that speaks the API of OpenAI: address, requests, answers, cost."""
