"""What a run will cost, said before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from rote.core.errors import OptionError

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens that are read and written at most, and their price where one was given."""

    requests: int
    read: int
    written: int
    price: tuple[float, float] | None

    @property
    def cost(self) -> float | None:
        """In the currency of the price."""
        if self.price is None:
            return None
        return (self.read * self.price[0] + self.written * self.price[1]) / _MILLION

    def __str__(self) -> str:
        requests = f"{self.requests:,} request{'s' * (self.requests != 1)}"
        amount = f"{requests}, about {self.read:,} tokens read and at most {self.written:,} written"
        if self.cost is None:
            return amount
        cents = self.cost >= 0.01 or not self.cost
        return f"{amount}: at most about {self.cost:,.2f}" if cents else f"{amount}: less than 0.01"


def check_price(price: tuple[float, ...] | None) -> tuple[float, float] | None:
    """Two prices, of a million tokens read and written."""
    if price is None:
        return None
    if len(price) != 2 or min(price) < 0:
        raise OptionError(
            "--price takes two numbers, per million tokens read and written: --price 0.5,1.5"
        )
    return price[0], price[1]
