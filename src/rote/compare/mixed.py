"""A linear mixed model: fixed effects, and random ones of prompts, authors or sources, crossed or
nested, each a shift of its own for every level.

    y = X b + Z_1 u_1 + ... + Z_k u_k + e,    u_j ~ N(0, s_j^2),    e ~ N(0, s^2)

Variances by restricted maximum likelihood, as in lme4 (Bates et al. 2015): only the ratios s_j / s
are searched for; everything else follows from one sparse factorization. What is said of b has
Student's t or F with degrees of freedom after Satterthwaite (1946; Fai and Cornelius 1996 for
several at once), which in balanced designs are those of the analysis of variance.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rote.core.arrays import Floats, Integers
from rote.core.errors import RoteError

_STEP = 1e-3
"""Of a logarithm of a variance, where the deviance is differentiated."""
_NOTHING = 1e-6
"""A random effect's deviation, as a share of the residual one, that is as good as none."""
_LARGEST = 1e4
_TRIES = 4


class NoFit(RoteError):
    """Why a mixed model has no estimates; says it in the user's terms."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A weighted sum of fixed effects, or several of them tested together."""

    estimate: float
    error: float
    freedom: float
    p: float

    def interval(self, level: float) -> tuple[float, float]:
        if not level:
            return math.nan, math.nan
        from scipy.special import stdtrit

        reach = float(stdtrit(self.freedom, (1 + level) / 2)) * self.error
        return self.estimate - reach, self.estimate + reach


@dataclass(frozen=True, slots=True)
class JointTest:
    """Whether several contrasts are all 0: an F test."""

    f: float
    freedom: tuple[int, float]
    p: float


class MixedModel:
    """The model fitted; raises `NoFit` where it cannot be.

    `design`: one row for each observation, columns of full rank that can sum to a constant.
    `random`: by name the level of every observation.
    """

    def __init__(
        self, response: Floats, design: Floats, random: Mapping[str, Sequence[Hashable]]
    ) -> None:
        from scipy import sparse

        self.size, columns = design.shape
        levels = {name: _number_levels(name, each, self.size) for name, each in random.items()}
        self.names = list(levels)
        self.counts = [int(of_effect.max()) + 1 for of_effect in levels.values()]
        if np.linalg.matrix_rank(design) < columns or self.size <= columns:
            raise NoFit("too few texts for so many sources and levels")
        # What is left after least squares is fitted: no large mean takes digits away.
        self.design = design
        self.plain = np.linalg.lstsq(design, response, rcond=None)[0]
        rest = response - design @ self.plain
        self.unit = float(np.sqrt(np.mean(rest**2)))
        if self.unit <= 1e-12 * max(1.0, float(np.abs(response).max())):
            raise NoFit("the values do not vary within sources and levels")
        self.rest = rest / self.unit
        ones, rows = np.ones(self.size), np.arange(self.size)
        self.indicators = sparse.hstack(
            [
                sparse.csr_matrix((ones, (rows, of_effect)), shape=(self.size, count))
                for of_effect, count in zip(levels.values(), self.counts)
            ],
            format="csr",
        )
        self.squares = (self.indicators.T @ self.indicators).tocsc()
        self.squares.sort_indices()
        self.columns = np.repeat(np.arange(sum(self.counts)), np.diff(self.squares.indptr))
        products = np.column_stack((design, self.rest))
        self.sums, self.products = self.indicators.T @ products, products.T @ products
        self.ratios = self._fitted()

    # The fit

    def _solved(self, ratios: Floats) -> _Solution:
        """Everything that follows from the ratios of the deviations to the residual one."""
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        scale, squares = np.repeat(ratios, self.counts), self.squares
        data = squares.data * scale[squares.indices] * scale[self.columns]
        data[squares.indices == self.columns] += 1
        inner = csc_matrix((data, squares.indices, squares.indptr), shape=squares.shape)
        symmetric: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        factors = splu(inner, permc_spec="MMD_AT_PLUS_A", **symmetric)
        shifted = scale[:, None] * self.sums
        crossed = self.products - shifted.T @ factors.solve(shifted)
        left, right = crossed[:-1, :-1], crossed[:-1, -1]
        effects = np.linalg.solve(left, right)
        return _Solution(
            scale=scale,
            factors=factors,
            information=left,
            effects=effects,
            misfit=float(crossed[-1, -1] - right @ effects),
            volume=float(
                np.log(np.abs(factors.U.diagonal())).sum() + np.linalg.slogdet(left).logabsdet
            ),
        )

    def _deviance(self, ratios: Floats) -> float:
        """Minus twice the restricted log-likelihood at the best residual variance, but for what
        does not depend on the ratios."""
        solved, left = self._solved(ratios), self.size - self.design.shape[1]
        return float(solved.volume + left * math.log(max(solved.misfit, 1e-300) / left))

    def _fitted(self) -> Floats:
        from scipy.optimize import minimize

        bounds, best = [(0.0, _LARGEST)] * len(self.names), np.ones(len(self.names))
        for closer in (1e-4, *[1e-7] * _TRIES):
            how: Any = {"xatol": closer, "fatol": closer / 100, "maxiter": 500 * len(best)}
            search = minimize(
                self._deviance, best, method="Nelder-Mead", bounds=bounds, options=how
            )
            settled = search.success and np.allclose(search.x, best, rtol=1e-4, atol=1e-5)
            best = np.asarray(search.x, np.float64)
            if settled:
                break
        else:
            raise NoFit("the mixed model did not converge")
        if best.max() > _LARGEST / 10:
            raise NoFit("no residual variance is left: the random effects explain every text")
        best[best < _NOTHING] = 0.0
        return best

    @cached_property
    def _best(self) -> _Solution:
        return self._solved(self.ratios)

    @cached_property
    def _variance(self) -> float:
        """Of the residuals, in units of `unit`."""
        return float(self._best.misfit / (self.size - self.design.shape[1]))

    # What was found

    @property
    def effects(self) -> Floats:
        return np.asarray(self.plain + self.unit * self._best.effects, np.float64)

    @cached_property
    def covariance(self) -> Floats:
        inverse = np.linalg.inv(self._best.information)
        return np.asarray(self.unit**2 * self._variance * inverse, np.float64)

    @property
    def deviations(self) -> dict[str, float]:
        """By random effect the standard deviation; that of the residuals is `residual`."""
        return {name: float(r) * self.residual for name, r in zip(self.names, self.ratios)}

    @property
    def residual(self) -> float:
        return self.unit * math.sqrt(self._variance)

    def contrast(self, weights: Floats) -> Contrast:
        from scipy.special import stdtr

        estimate, error = float(weights @ self.effects), self._error(weights)
        freedom = self._freedom(weights)
        p = 2 * float(stdtr(freedom, -abs(estimate) / error))
        return Contrast(estimate, error, freedom, p)

    def joint(self, weights: Floats) -> JointTest:
        """Whether the sums that the rows weigh are all 0; the rows are independent."""
        from scipy.special import fdtrc

        values, turned = np.linalg.eigh(weights @ self.covariance @ weights.T)
        apart = turned.T @ weights
        f = float(np.mean((apart @ self.effects) ** 2 / values))
        count = len(weights)
        each = np.array([self._freedom(contrast) for contrast in apart])
        each = each[each > 2]
        above = float((each / (each - 2)).sum())
        freedom = 2 * above / (above - count) if above > count else math.nan
        if np.ptp(each) < 1e-6 * each.mean() and len(each) == count:
            freedom = float(each.mean())
        return JointTest(f, (count, freedom), float(fdtrc(count, freedom, f)))

    def _error(self, weights: Floats) -> float:
        return math.sqrt(float(weights @ self.covariance @ weights))

    def _freedom(self, weights: Floats) -> float:
        """After Satterthwaite: twice the squared variance of the sum, by the variance of that."""
        gradient = self._variance_gradient(weights)
        spread = float(gradient @ self._of_variances @ gradient)
        return 2 * self._error(weights) ** 4 / spread

    def _variance_gradient(self, weights: Floats) -> Floats:
        """Of the variance of a sum, by the logarithms of the variances that are not 0."""
        predicted = self.design @ (np.linalg.solve(self._best.information, weights))
        best = self._best
        inner = best.factors.solve(best.scale * (self.indicators.T @ predicted))
        whitened = predicted - self.indicators @ (best.scale * inner)
        sums = np.split(self.indicators.T @ whitened, np.cumsum(self.counts)[:-1])
        by_effect = ((sums_of, ratio) for sums_of, ratio in zip(sums, self.ratios) if ratio)
        parts = [(sums_of**2).sum() * ratio**2 for sums_of, ratio in by_effect]
        parts.append((whitened**2).sum())
        return np.array(parts) * self.unit**2 * self._variance

    @cached_property
    def _of_variances(self) -> Floats:
        """The covariance of the logarithms of the variances that are not 0, the residual last."""
        nonzero = np.flatnonzero(self.ratios)
        left = self.size - self.design.shape[1]

        def deviance(shift: Floats) -> float:
            ratios, residual = self.ratios.copy(), self._variance * math.exp(shift[-1])
            ratios[nonzero] *= np.exp((shift[:-1] - shift[-1]) / 2)
            solved = self._solved(ratios)
            return float(solved.volume + left * math.log(residual) + solved.misfit / residual)

        count = len(nonzero) + 1
        steps, curved = np.eye(count) * _STEP, np.empty((count, count))
        for i in range(count):
            for j in range(i + 1):
                corners = [
                    sign * other_sign * deviance(sign * steps[i] + other_sign * steps[j])
                    for sign in (1, -1)
                    for other_sign in (1, -1)
                ]
                curved[i, j] = curved[j, i] = sum(corners) / (4 * _STEP**2)
        return np.asarray(2 * np.linalg.inv(curved), np.float64)


@dataclass(frozen=True, slots=True)
class _Solution:
    """The model at given ratios, in units of the residual standard deviation."""

    scale: Floats
    factors: Any
    information: Floats
    """Its inverse times the residual variance is the covariance of the fixed effects."""
    effects: Floats
    misfit: float
    volume: float


def _number_levels(name: str, levels: Sequence[Hashable], size: int) -> Integers:
    """The levels as numbers; refuses what no variance can be told from."""
    numbers: dict[Hashable, int] = {}
    by_text = [numbers.setdefault(level, len(numbers)) for level in levels]
    if len(numbers) < 2:
        raise NoFit(f"the random effect {name} has a single level: a variance needs two")
    if len(numbers) == size:
        raise NoFit(
            f"the random effect {name} has one level per text, so it cannot be separated from the "
            "residual"
        )
    return np.array(by_text, np.int64)
