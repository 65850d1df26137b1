"""A private folder from which a stopped fit resumes, with the same noise under the same charge."""
