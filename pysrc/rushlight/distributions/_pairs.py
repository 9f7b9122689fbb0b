"""Distributions that take probabilities or logits and compute the others when they are asked for."""

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def need_one(probs, logits):
    """Raise ValueError unless just one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Pair:
    """A tensor of probabilities or logits: ``_param`` is the one that was given."""

    @property
    def param_shape(self):
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


class BinaryPair(Pair):
    """Of an event that happens or not; the logits are its log odds."""

    def _set_pair(self, probs, logits):
        need_one(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._set_param()

    def _set_counted_pair(self, total_count, probs, logits):
        """Set the pair and total_count, of one shape and dtype."""
        need_one(probs, logits)
        if probs is not None:
            total_count, self.probs = broadcast_all(total_count, probs)
        else:
            total_count, self.logits = broadcast_all(total_count, logits)
        self._set_param()
        self.total_count = total_count.type_as(self._param)

    def _set_param(self):
        self._param = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)


class CategoricalPair:
    """What hands on the pair of the Categorical that it is made of."""

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits


class RelaxedPair:
    """What hands on the pair and the temperature of its base distribution."""

    @property
    def temperature(self):
        return self.base_dist.temperature

    @property
    def probs(self):
        return self.base_dist.probs

    @property
    def logits(self):
        return self.base_dist.logits
