"""Predictors: one class for each way in which a release predicts ratings and ranks items."""
