"""What cards and statements are made of, and how it is written as HTML and as Markdown."""
