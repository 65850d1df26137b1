"""Alternating least squares in plain NumPy, beside which factorisers and their model are put."""

import numpy as np

from hushrec.estimation.factor_steps import normal_factors


def dense(ratings):
    found = np.full((len(ratings.counts), ratings.n_columns), np.nan)
    rows = np.repeat(np.arange(len(ratings.counts)), ratings.counts)
    found[rows, ratings.columns] = ratings.values
    return found


def als_wr(ratings, rank, epochs, reg):
    """Zhou et al. 2008, §3.1, as it is written."""
    table = dense(ratings)
    columns, rows = 0.3 * normal_factors(table.shape[1], rank), np.zeros((table.shape[0], rank))

    def solved(table, others):
        found = np.zeros((len(table), others.shape[1]))
        for row, own in enumerate(table):
            rated = ~np.isnan(own)
            if rated.any():
                q = others[rated]
                normal = q.T @ q + reg * rated.sum() * np.eye(others.shape[1])
                found[row] = np.linalg.solve(normal, q.T @ own[rated])
        return found

    for _ in range(epochs):
        rows = solved(table, columns)
        columns = solved(table.T, rows)
    return rows, columns
