"""Serve lists from a release, as JSON, to your own back end: python list_service.py RELEASE PORT."""

import sys

import uvicorn
from fastapi import FastAPI, HTTPException

import hushrec as hr

client = hr.Client(sys.argv[1])
app = FastAPI()


@app.post("/lists")
def lists(items: list[str]) -> list[dict[str, str]]:
    """Recommend five items to a user of these items."""
    try:
        rows = client.recommend(items, n=5)
    except hr.errors.ReleaseError as error:  # none of the items is in the catalogue
        raise HTTPException(422, str(error)) from None
    return [{"id": row.item_id, "title": client.title(row.item_id)} for row in rows]


uvicorn.run(app, port=int(sys.argv[2]), access_log=False)
