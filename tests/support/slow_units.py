"""An oracle of standardization: means and variances recomputed, maps as dense matrices."""

import numpy as np

from onlinear._updates import units


class Units:
    """The scaling of the columns of a stream, as rows arrive; u = M[1, x], or Mx."""

    def __init__(self, first_row, intercept=True):
        d = len(first_row)
        self.intercept, self.d = int(intercept), d
        self.centre = np.array(first_row) if intercept else np.zeros(d)
        self.unit, self.prior = np.zeros(d), np.zeros(d)

    def expressed(self, x):
        u = np.divide(x - self.centre, self.unit, out=np.zeros(self.d), where=self.unit > 0)
        return np.concatenate([[1.0], u]) if self.intercept else u

    def matrix(self):
        """Return M; an inert column is left as it is."""
        M = np.eye(self.d + self.intercept)
        for j in np.nonzero(self.unit)[0]:
            i = j + self.intercept
            M[i, i] = 1 / self.unit[j]
            if self.intercept:
                M[i, 0] = -self.centre[j] / self.unit[j]
        return M

    def moves(self, seen):
        """Bring units to the rows seen; yield (i, change of u, ratio of a stale prior) in turn.

        The change is None for a column that wakes, before it is moved.
        """
        mean = seen.mean(axis=0) if self.intercept else np.zeros(self.d)
        variance = np.mean((seen - mean) ** 2, axis=0)
        for j in range(self.d):
            i = j + self.intercept
            if np.ptp(seen[:, j]) == 0 and (self.intercept or seen[0, j] == 0):
                continue
            if self.unit[j] == 0:
                self.unit[j], self.prior[j] = np.sqrt(variance[j]), variance[j]
                yield i, None, None
            elif (
                1 / units.SLACK <= variance[j] / self.unit[j] ** 2 <= units.SLACK
                and abs(mean[j] - self.centre[j]) <= units.SHIFT * self.unit[j]
            ):
                continue
            old = self.matrix()
            self.centre[j], self.unit[j] = mean[j], np.sqrt(variance[j])
            change = self.matrix() @ np.linalg.inv(old)
            ratio = self.prior[j] / variance[j]
            if not 1 / units.STALE <= ratio <= units.STALE:
                self.prior[j] = variance[j]
                yield i, change, ratio
            else:
                yield i, change, None


def wake(w, S, i, variance):
    """Reset a weight to its prior."""
    w[i] = 0.0
    S[i] = S[:, i] = 0.0
    S[i, i] = variance


def changed(w, S, change):
    """Return weights and covariance after a change of u."""
    back = np.linalg.inv(change)
    S = back.T @ S @ back
    return back.T @ w, (S + S.T) / 2


def reweighed(w, S, i, more):
    """Return them with more precision of weight i, about 0."""
    precision = np.linalg.inv(S)
    target = precision @ w
    precision[i, i] += more
    S = np.linalg.inv(precision)
    return S @ target, (S + S.T) / 2
