"""The table encoder as a scikit-learn transformer.

Knows scikit-learn, the readers of tables and the stream encoder; holds no arithmetic.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..formats.errors import Hint
from ..formats.unread_warnings import with_unread_told
from ..models.differences import check_same
from ..models.matrices import matrix_of
from ..preprocessing.columns import Table, rows_in
from ..preprocessing.encoded import Encoded
from ..preprocessing.encoding import Encoding
from ..preprocessing.encoding_merge import merge_encodings
from ..preprocessing.features import Feature
from ..preprocessing.settings import RESOLUTIONS, EncodingSettings
from ..preprocessing.stream_encoder import StreamEncoder
from .mergeable import check_type
from .parameters import one_of
from .table_inputs import has_names, table_like


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode raw columns of a table as sparse features for a linear model, learned as the rows pass.

    The kind of each column is decided once, from the first `warm_up` rows:

    - numbers: the clipped z-score by running mean and deviation, and an indicator for each quantile bin;
    - categories: an indicator for each, in order of appearance, up to a limit; beyond it they share a fixed number of
      hashed indicators, and those that have hardly been seen share one;
    - dates and times (datetime types, ISO 8601, or seconds since 1970 in a column named as a time): hour, weekday and
      month, and the moment itself as a number;
    - free text: its words, hashed;
    - ids, that is, single words that are nearly all different: nothing.

    In every column, missing values have an indicator of their own. A text in a column of numbers or dates is a missing
    value; a number in a column of categories is the category of that number. New output columns are added at the end as
    categories appear, and their number is bounded. In `pater.stream.OnlinePipeline`, each row is encoded from the rows
    up to it, so the result does not depend on how a stream is split.

    Parameters
    ----------
    resolution : {"nested", "fine", "coarse", "none"}, default="nested"
        Which bins to use. "nested" has coarse and fine ones side by side; an `AutoPATERClassifier` behind it in an
        `OnlinePipeline` finds out whether to use none, the coarse ones, or both.
    warm_up : int, default=1000
        The number of first rows that decide kinds and bins.
    fine_bins : int, default=12
        The number of fine bins of a column of numbers.
    coarse_bins : int, default=4
        The number of coarse bins; each is a group of fine ones.
    clip : float, default=3.0
        The largest z-score.
    max_categories : int, default=100
        The most categories of a column that get indicators of their own.
    buckets : int, default=32
        The number of hashed indicators that further categories share.
    min_count : int, default=3
        How often a category must occur to get an indicator of its own.
    word_buckets : int, default=1024
        The number of hashed indicators for the words of a column of free text.
    interactions : list of pairs of names, or "all", optional
        Columns to cross: each pair of values gets an indicator, such as `country=fr × amount: 12 to 40`. Numbers are
        crossed by their coarse bins, dates by hour, weekday and month. "all" crosses all columns that are neither text
        nor id, up to twenty of them. An `AutoPATERClassifier` behind it in an `OnlinePipeline` finds out whether to use
        the crosses.
    cross_buckets : int, default=1024
        The most indicators for two crossed columns; if there could be more crosses, they are hashed to this number.

    Attributes
    ----------
    kinds_ : dict
        The kind of each column of the table: "number", "date", "category", "text" or "id".
    encoding_ : Encoding
        What was learned: the edges of bins in the units of the table, categories, means and deviations.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        The names of the columns, if the table has names.

    Examples
    --------
    >>> import pandas as pd
    >>> from pater.preprocessing import TableEncoder
    >>> table = pd.DataFrame({"amount": [5.0, 7.5, None, 120.0] * 5, "country": ["DE", "FR", "DE", "JP"] * 5})
    >>> encoder = TableEncoder(resolution="none").fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['amount', 'country=DE', 'country=FR', 'amount: missing', 'country=JP']
    >>> encoder.transform(table[:3]).toarray().round(2).tolist()
    [[-0.73, 1.0, 0.0, 0.0, 0.0], [-0.68, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0]]
    """

    _stream: StreamEncoder
    _settings: ClassVar = tuple(EncodingSettings.__dataclass_fields__)

    def __init__(
        self,
        *,
        resolution: str = "nested",
        warm_up: int = 1000,
        fine_bins: int = 12,
        coarse_bins: int = 4,
        clip: float = 3.0,
        max_categories: int = 100,
        buckets: int = 32,
        min_count: int = 3,
        word_buckets: int = 1024,
        interactions: Any = None,
        cross_buckets: int = 1024,
    ) -> None:
        self.resolution = resolution
        self.warm_up = warm_up
        self.fine_bins = fine_bins
        self.coarse_bins = coarse_bins
        self.clip = clip
        self.max_categories = max_categories
        self.buckets = buckets
        self.min_count = min_count
        self.word_buckets = word_buckets
        self.interactions = interactions
        self.cross_buckets = cross_buckets

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything and learn from all rows of a table."""
        before = dict(vars(self))
        for name in ("_stream", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        try:
            self.partial_fit(X)
            self._stream.ended()  # or a ValueError
            return self
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from some more rows."""
        self._learn(X)
        return self

    def partial_fit_transform(self, X: Any, *beside: Any) -> list[tuple[Any, ...]]:
        """Learn from some more rows and encode each from the rows up to it, as learning in one pass requires.

        The first `warm_up` rows are held back, together with what belongs to them (labels, weights), and are returned
        once all of them have arrived.

        Parameters
        ----------
        X : table
            The rows.
        *beside : arrays with one entry per row, or None
            What belongs to the rows.

        Returns
        -------
        list of tuples
            Encoded rows and what belongs to them, in the order of the stream; empty while rows are held back.
        """
        return [(self._matrix(encoded), *rest) for encoded, rest in self._learn(X, *beside)]

    def held_back(self) -> list[tuple[Any, ...]]:
        """What `partial_fit_transform` would return if the stream ended here. It changes nothing."""
        check_is_fitted(self)
        return [(self._matrix(encoded), *rest) for encoded, rest in self._stream.ended()[1]]

    def _learn(self, X: Any, *beside: Any) -> list[tuple[Encoded, tuple[Any, ...]]]:
        one_of("resolution", self.resolution, tuple(RESOLUTIONS))
        settings = self._wanted()
        begins = "_stream" not in vars(self)
        table = self._table(X, begins=begins)
        stream = StreamEncoder(settings, in_one=True) if begins else self._stream
        if stream.settings != settings:
            raise ValueError("the settings of an encoder cannot change once it has learned; fit it again instead.")
        for array in beside:
            if array is not None and len(array) != rows_in(table):
                raise ValueError(f"X has {rows_in(table)} rows, but what belongs to them has {len(array)}.")
        told = stream.decided_early()
        if told:
            warnings.warn(told, Hint, stacklevel=2)
        pieces = stream.take(table, *beside)
        if begins:
            self._stream = stream
            self.n_features_in_ = len(table)
            if has_names(X):
                self.feature_names_in_ = np.array(list(table), object)
        return pieces

    def _wanted(self) -> EncodingSettings:
        """The settings from the parameters; a ValueError if one is not valid."""
        return EncodingSettings(**{name: getattr(self, name) for name in self._settings})

    def transform(self, X: Any) -> Any:
        """Encode rows by what has been learned.

        Parameters
        ----------
        X : table
            The rows, with the columns of those that were learned from.

        Returns
        -------
        csr_array of shape (n_rows, n_output_columns)
            The encoded rows.
        """
        check_is_fitted(self)
        return self._matrix(with_unread_told(self.encoding_.encode(self._table(X, begins=False))))

    def _matrix(self, encoded: Encoded) -> Any:
        return matrix_of(encoded.rows(self.resolution), encoded.width(self.resolution))

    def _table(self, X: Any, *, begins: bool) -> Table:
        return table_like(X, None if begins else self._names(), type(self).__name__)

    def _names(self) -> list[str]:
        stream = self._stream
        return stream.encoding.names if stream.encoding is not None else list(stream.held[0][0])

    @property
    def encoding_(self) -> Encoding:
        """What was learned; if the stream is shorter than `warm_up`, as if it ended here."""
        check_is_fitted(self)
        return self._stream.ended()[0]

    @property
    def kinds_(self) -> dict[str, str]:
        """The kind of each column of the table."""
        return self.encoding_.kinds

    def features(self) -> list[Feature]:
        """What each output column stands for, in the units of the table."""
        return self.encoding_.features(self.resolution)

    def levels(self) -> NDArray[np.uint8]:
        """How much detail each output column adds: 1 and 2 for the bins of the resolution, more for crosses, else 0."""
        return self.encoding_.levels(self.resolution)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the output columns."""
        check_is_fitted(self)
        if input_features is not None and [str(name) for name in input_features] != self._names():
            raise ValueError(f"input_features is not equal to the names of the columns, which are {self._names()}.")
        return np.array([feature.name for feature in self.features()], object)

    def merge(self, other: Self) -> Self:
        """Add what a copy of this encoder, or one that began with the same rows, has learned from other rows.

        Parameters
        ----------
        other : TableEncoder
            An encoder with the same settings, kinds and bins; an error names the first difference.

        Returns
        -------
        self
            The encoder. `other` does not change; after an error, neither does this one.
        """
        self._stream = self.placing(other)[0]._stream
        return self

    def placing(self, other: Self) -> tuple[Self, NDArray[np.int64]]:
        """The merged encoder, and the column in it of each output column of `other`, or −1 for none."""
        check_type(self, other)
        for each, which in ((self, "this one"), (other, "the other")):
            check_is_fitted(each)
            if each._stream.encoding is None:
                told = f"encoders can be merged once they have learned from {each.warm_up} rows (warm_up)"
                raise ValueError(f"{told}; {which} has learned from {each._stream.n_held}.")
        check_same([("resolution", other.resolution, self.resolution)])
        result = copy(self)
        result._stream.encoding, columns = merge_encodings(self.encoding_, other.encoding_, self.resolution)
        return result, columns

    def __copy__(self) -> Self:
        """An independent copy."""
        result = type(self).__new__(type(self))
        result.__dict__.update(self.__dict__)
        if "_stream" in vars(self):
            result._stream = self._stream.copy()
        return result

    def __sklearn_is_fitted__(self) -> bool:
        return "_stream" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
