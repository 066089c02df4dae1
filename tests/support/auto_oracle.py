"""Auto in slow textbook form: experts by dense maps and inverses, ridges by their precisions."""

import numpy as np
from first_order_oracles import Run
from slow_units import Units, changed, reweighed, wake

STANDARD, GIVEN = (1.0, 1e3, 1e6, 1e9), (0.1, 1e3, 1e6)
EARLY = 10


class Expert:
    """LASER, not shrunk, with b = 1; ``alert`` starts afresh when surprised."""

    def __init__(self, wide, c, alert=False):
        self.w, self.S, self.c, self.t = np.zeros(wide), np.eye(wide), c, 0
        self.alert, self.used_to, self.since = alert, 0.0, 0

    def learn(self, u, y):
        if self.alert:
            miss = (y - self.w @ u) ** 2 / (1 + u @ self.S @ u)
            if self.since > 10 and miss > 9 * self.used_to:
                self.S, self.since = np.eye(len(u)), 0
            self.since += 1
            self.used_to += max(1 / self.since, 0.02) * (miss - self.used_to)
        if self.t > 0:
            self.S = self.S + np.eye(len(u)) / self.c
        gain = self.S @ u / (1 + u @ self.S @ u)
        self.w = self.w + gain * (y - self.w @ u)
        keep = np.eye(len(u)) - np.outer(gain, u)
        self.S = keep @ self.S @ keep.T + np.outer(gain, gain)  # Joseph's form
        self.t += 1


class Combination:
    """A ridge on the features: v minimises ‖v‖²/0.1 + Σ (y − p̄ − vᵀf)²/σ², or drifts."""

    def __init__(self, features, drift):
        self.v, self.T, self.drift = np.zeros(features), 0.1 * np.eye(features), drift

    def learn(self, f, target, noise):
        self.T = self.T + self.drift * np.eye(len(f))
        gain = self.T @ f / (noise + f @ self.T @ f)
        self.v = self.v + gain * (target - self.v @ f)
        keep = np.eye(len(f)) - np.outer(gain, f)
        self.T = keep @ self.T @ keep.T + noise * np.outer(gain, gain)


class Auto:
    """The steps one after the other, as in the docstring of the learner."""

    def __init__(self, d, lags, given, guaranteed=False):
        self.d, self.lags, self.guaranteed, self.beta = d, lags, guaranteed, 0.0
        self.experts = [Expert(d + 1, c) for c in STANDARD]
        if given:
            self.experts += [Expert(d + 1, c, c == GIVEN[-1]) for c in GIVEN]
        features = len(self.experts) + 1 + 2 * lags
        self.ridges = [Combination(features, drift) for drift in (0.0, 1e-5)]
        self.trust = np.full(2, 0.5)
        self.rows, self.labels, self.errors, self.past = [], [], [], []
        self.noise, self.streak, self.odd, self.absurd, self.t = 0.0, 0, 0.0, np.zeros(d), 0
        self.last, self.lasts = 0.0, np.zeros(d)

    # rows: those learnt from, labels: likewise, less the first; past: (label, error), newest first

    def believable(self, distance, absurd, last):
        return absurd >= 0.5 and distance <= 4 * last

    def tidy(self, x, learning):
        out = np.array(x)
        if self.t < EARLY:
            return out
        seen = np.array(self.rows)
        mean, low, high = seen.mean(axis=0), seen.min(axis=0), seen.max(axis=0)
        for j in range(self.d):
            off, limit = x[j] - mean[j], 20 * seen[:, j].std()
            if low[j] == high[j]:
                strange = low[j] != 0 and abs(x[j] - low[j]) > 1e3 * abs(low[j])
                believed = learning and self.believable(abs(off), self.absurd[j], self.lasts[j])
                if strange and not believed:
                    out[j] = low[j]
            elif 0 < limit < abs(off) and not 2 * low[j] - high[j] <= x[j] <= 2 * high[j] - low[j]:
                believed = learning and self.believable(abs(off), self.absurd[j], self.lasts[j])
                limit *= 2.0 ** self.absurd[j] if believed else 0.0
                out[j] = mean[j] + np.clip(off, -limit, limit)
        return out

    def look(self, x):
        if self.t == 0:
            return 0.0, None
        low, high = min(self.labels), max(self.labels)
        room = max(0.02, 3 / np.sqrt(self.t + 1)) * (high - low)
        low, high = low - room, high + room
        tidy = self.tidy(x, learning=False)
        u, raw = self.units.expressed(tidy), np.concatenate([[1.0], tidy])
        guesses = [e.w @ (u if k < 4 else raw) for k, e in enumerate(self.experts)]
        guesses = np.append(np.clip(guesses, low, high), np.mean(self.means))
        middle = guesses.mean()
        f = list(guesses - middle)
        for i in range(self.lags):
            label, error = self.past[i] if i < len(self.past) else (middle, 0.0)
            f += [label - middle, error]
        f = np.array(f)
        single = [np.clip(middle + ridge.v @ f, low, high) for ridge in self.ridges]
        guess = self.trust @ single
        z = f[: len(self.experts)] + middle - guess
        return self.first + guess + self.correction(z), (f, middle, np.array(single), guess, z)

    def correction(self, z):
        """AAR of y − g on z: the last row of the least-squares problem is z with the label 0."""
        if not self.beta:
            return 0.0
        Z, left = np.array([*self.Z, z]), np.array([*self.left, 0.0])
        return z @ np.linalg.solve(self.beta * np.eye(len(z)) + Z.T @ Z, Z.T @ left)

    def learn(self, x, y, ticket):
        n = self.t + 1
        if n == 1:
            self.first, self.units, self.means = y, Units(x), []
            self.Z, self.left = [], []
            ticket = np.zeros(len(self.ridges[0].v)), 0.0, np.zeros(2), 0.0, None
        f, middle, single, guess, z = ticket
        y, believed = y - self.first, True
        if n > EARLY:
            low, high = min(self.labels), max(self.labels)
            usual = max(np.sqrt(self.noise), 1e-3 * (high - low))
            heard = 2 * low - high <= y <= 2 * high - low
            longer = self.streak if heard else max(self.streak, self.odd)
            limit = 10 * usual * 2.0**longer if usual > 0 else np.inf
            near = np.clip(y, guess - limit, guess + limit)
            believed = near == y or heard or self.believable(abs(y - guess), longer, self.last)
            self.last = abs(y - guess) if near != y else self.last
            self.streak = self.streak + 1 if near != y else 0
            self.odd = 0.9999 * self.odd + (near != y and not heard)
            y = near if believed else guess
        tidy = self.tidy(x, learning=True)
        self.absurd = 0.9999 * self.absurd + (tidy != x)
        if self.rows:
            off = np.abs(x - np.mean(self.rows, axis=0))
            self.lasts = np.where(tidy != x, off, self.lasts)
        self.rows.append(tidy)
        for i, change, ratio in self.units.moves(np.array(self.rows)):
            for expert in self.experts[:4]:
                if change is None:
                    wake(expert.w, expert.S, i, 1.0)
                    continue
                expert.w, expert.S = changed(expert.w, expert.S, change)
                if ratio is not None and (ratio < 1 or self.t / expert.c < 0.1):
                    expert.w, expert.S = reweighed(expert.w, expert.S, i, 1 - ratio)
        u, raw = self.units.expressed(tidy), np.concatenate([[1.0], tidy])
        e = y - guess
        self.labels.append(y)
        self.means.append(y)
        if believed:
            for k, expert in enumerate(self.experts):
                expert.learn(u if k < 4 else raw, y)
            if n > 1:
                self.noise += max(1 / self.t, 0.01) * (e**2 - self.noise)
            before = self.labels[:-1] or [0.0]
            noise = max(self.noise, 1e-24 * np.ptp(before) ** 2)
            if noise > 0:
                loss = (y - single) ** 2 / (2 * noise)
                self.trust = self.trust * np.exp(loss.min() - loss)
                self.trust = 0.999 * self.trust / self.trust.sum() + 0.0005
                for ridge in self.ridges:
                    ridge.learn(f, y - middle, noise)
        if self.beta and believed:
            self.Z.append(z)
            self.left.append(e)
        if self.guaranteed and not self.beta and n >= EARLY:
            self.beta = 10 * np.var(self.labels)
        self.past.insert(0, (y, e))
        self.t = n


def odd_one_out(values):
    """Return the place of the absurd value or None, and the median."""
    middle = np.median(values)
    far = np.abs(values - middle)
    others = np.sort(far)[-2]
    usual = 50 * others if others > 0 else 1e3 * abs(middle)
    place = int(np.argmax(far))
    return (place if 0 < usual < far[place] else None), middle


def auto(X, y, lags=2, units="free", guaranteed=False):
    """Return the predictions of Auto."""
    predictions = []
    model, early = Auto(X.shape[1], lags, units == "given", guaranteed), []
    for x, label in zip(X, y, strict=True):
        prediction, ticket = model.look(x)
        predictions.append(prediction)
        model.learn(x, label, ticket)
        if len(early) < EARLY:
            early.append(np.append(x, label))
            if len(early) == EARLY:
                rows = np.array(early)
                for j in range(X.shape[1]):
                    place, middle = odd_one_out(rows[:, j])
                    if place is not None:
                        rows[place, j] = middle
                odd, _ = odd_one_out(rows[:, -1])
                kept = rows if odd is None else np.delete(rows, odd, axis=0)
                if not np.array_equal(kept, early):
                    model = Auto(X.shape[1], lags, units == "given", guaranteed)
                    for row in kept:
                        model.learn(row[:-1], row[-1], model.look(row[:-1])[1])
    return Run(np.array(predictions), None)
