"""PLINK genotypes as they are stored, 2 bits each: unpacked four at a time by a table within the
product, missing ones imputed by their column's mean.

Format (PLINK 1.9, variant-major): three magic bytes, then ceil(n / 4) bytes a column; the genotype
of row i has bits 2 (i mod 4) and above of byte i // 4: 00 two copies of allele A1, 10 one, 11 none,
01 missing.
"""

import os
from pathlib import Path

import numpy as np

from l0path.core.dispatch import njit
from l0path.designs.checks import check_shape
from l0path.designs.dense import Dense
from l0path.designs.disk.raw_file import RawFile

MAGIC = b"\x6c\x1b\x01"
COPIES = np.array(
    [2.0, np.nan, 1.0, 0.0]
)  # of A1, by code; as bed-reader counts with count_A1=True
CODES = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3  # (256, 4): the codes of a byte
VALUES = np.nan_to_num(COPIES)[CODES]  # (256, 4): copies, 0 for a missing one
COPIES_OF, MISSING_OF = VALUES.sum(axis=1).astype(np.int64), (CODES == 1).sum(axis=1)
# (256,): the four genotypes of a byte as signed bytes, -1 where missing
BYTES = np.nan_to_num(COPIES, nan=-1).astype(np.int8)[CODES].view(np.uint32)[:, 0].copy()
FEW = 16  # right-hand sides up to which the kernel is faster than decoding and BLAS
DECODED_TILE = 1 << 16  # genotypes decoded before a product: 512 KB


@njit
def _means(packed, n, copies, missing, mean):
    """mean[c] = mean of the genotypes of column c that are not missing, where it is NaN so far; 0
    where all are missing.
    """
    for c in range(packed.shape[0]):
        if mean[c] == mean[c]:
            continue
        column, total, none = packed[c], 0, 0
        for i in range(column.size):
            total += copies[column[i]]
            none += missing[column[i]]
        mean[c] = total / max(n - none, 1)


@njit
def _few(packed, bytes_of, mean, R, four, each, words, out):
    """out[k, c] = x_c'r_k for packed (q, w), R (m, n padded with zeros), mean (q,) for the missing.

    A column is unpacked to one signed byte a genotype, -1 where missing, by bytes_of (256,): four
    at a time; four, each and words are views of that scratch as uint32, int8 and uint64.
    """
    width, m, flags = packed.shape[1], R.shape[0], np.uint64(0x8080808080808080)
    for c in range(packed.shape[0]):
        column = packed[c]
        for i in range(width):
            four[i] = bytes_of[column[i]]
        for k in range(m):
            r, total = R[k], 0.0
            for i in range(each.size):
                total += np.float64(each[i]) * r[i]
            out[k, c] = total
        for first in range(0, words.size, 8):
            last, seen = min(first + 8, words.size), np.uint64(0)
            for i in range(first, last):
                seen |= words[i]
            if seen & flags:
                for i in range(8 * first, 8 * last):
                    if each[i] < 0:
                        for k in range(m):
                            out[k, c] += (mean[c] + 1.0) * R[k, i]


@njit
def _decode(packed, n, values, mean, out):
    """out[c] = x_c for packed (q, w), out (q, n); values (256, 4) copies, 0 where missing, which
    mean[c] then replaces.
    """
    whole = n // 4
    for c in range(packed.shape[0]):
        column, row, seen = packed[c], out[c], np.uint8(0)
        for i in range(column.size):
            seen |= column[i] & ~(column[i] >> np.uint8(1)) & np.uint8(0x55)
        for i in range(whole):
            b = column[i]
            row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3] = (
                values[b, 0],
                values[b, 1],
                values[b, 2],
                values[b, 3],
            )
        for i in range(4 * whole, n):
            row[i] = values[column[whole], i - 4 * whole]
        if seen:
            for i in range(column.size):
                if column[i] & ~(column[i] >> np.uint8(1)) & np.uint8(0x55):
                    for k in range(4 * i, min(4 * i + 4, n)):
                        if (column[i] >> np.uint8(2 * (k - 4 * i))) & np.uint8(3) == 1:
                            row[k] = mean[c]


class Packed:
    """Design of some columns (q, ceil(n / 4)) of a BED file, all rows; mean (q,): their means, NaN
    where not known yet, which are filled in. Bits beyond row n must be set.
    """

    def __init__(self, packed, n, mean):
        self.packed, self.n, self.p, self.mean = packed, n, packed.shape[0], mean
        _means(packed, n, COPIES_OF, MISSING_OF, mean)

    def decoded(self, start=0, stop=None, out=None):
        """Columns start:stop as float64 (n, stop - start), Fortran order."""
        part = self.packed[start : self.p if stop is None else stop]
        out = (
            np.empty((part.shape[0], self.n))
            if out is None
            else out[: part.shape[0] * self.n].reshape(part.shape[0], self.n)
        )
        _decode(part, self.n, VALUES, self.mean[start:stop], out)
        return out.T

    def correlate(self, R, start=0, stop=None):
        """X[:, start:stop]'R (stop - start, m) for R (n, m)."""
        if start or stop is not None:
            return Packed(self.packed[start:stop], self.n, self.mean[start:stop]).correlate(R)
        m, width = R.shape[1], self.packed.shape[1]
        out = np.empty((m, self.p))
        if m <= FEW:
            words = np.zeros(-(-width // 2), dtype=np.uint64)
            padded = np.zeros((m, 8 * words.size))
            padded[:, : self.n] = R.T
            _few(
                self.packed,
                BYTES,
                self.mean,
                padded,
                words.view(np.uint32),
                words.view(np.int8),
                words,
                out,
            )
            return out.T
        step = max(1, DECODED_TILE // self.n)
        scratch = np.empty(step * self.n)
        for first in range(0, self.p, step):
            out[:, first : first + step] = (
                Dense(self.decoded(first, first + step, scratch), 0).correlate(R).T
            )
        return out.T

    def moments(self, weights, center):
        """See `Dense.moments`."""
        width = max(1, DECODED_TILE // self.n)
        mean, second, scratch = np.empty(self.p), np.empty(self.p), np.empty(width * self.n)
        for start in range(0, self.p, width):
            mean[start : start + width], second[start : start + width] = Dense(
                self.decoded(start, start + width, scratch), 0
            ).moments(weights, center)
        return mean, second

    def columns(self, J):
        """See `Dense.columns`."""
        J = np.asarray(J, dtype=np.intp)
        return Packed(self.packed[J], self.n, self.mean[J]).decoded()

    def nonfinite(self):
        """None: missing genotypes are imputed."""
        return np.zeros(self.p, dtype=np.int64)


class BedSource:
    """A PLINK .bed file with its .fam and .bim beside it, or n and p given. Entries are copies of
    A1, missing ones the mean of the column's others over all rows of the file.
    """

    decoded = False

    def __init__(self, path, n=None, names=None):
        self.path = str(path)
        self.n = len(self._beside(".fam", "rows")) if n is None else int(n)
        self.names = (
            [line.split(None, 2)[1] for line in self._beside(".bim", "columns")]
            if names is None
            else list(names)
        )
        self.p = len(self.names)
        check_shape((self.n, self.p), "source")
        self.width = -(-self.n // 4)
        self.nbytes = self.p * self.width
        self.dtype = np.dtype(np.float64)
        self.chunk = (self.n, 1)
        self.parallel = True
        self.mean = np.full(self.p, np.nan)  # filled as columns are met
        self.file = RawFile(path)
        start = np.zeros(min(3, os.path.getsize(self.path)), dtype=np.uint8)
        self.file.fill(start, 0)
        magic = start.tobytes()
        if magic != MAGIC:
            raise ValueError(
                f"source {self.path} begins with {magic.hex()}, a variant-major PLINK .bed file "
                f"with {MAGIC.hex()}; write it anew with plink --make-bed"
            )
        if os.path.getsize(self.path) != 3 + self.nbytes:
            raise ValueError(
                f"source {self.path} has {os.path.getsize(self.path)} bytes; {self.n} rows and "
                f"{self.p} columns need {3 + self.nbytes}: are .fam and .bim of the same file?"
            )

    def _beside(self, suffix, what):
        """Lines of the file beside the .bed."""
        file = Path(self.path).with_suffix(suffix)
        if not file.exists():
            raise FileNotFoundError(
                f"source {self.path} needs {file.name} beside it, which lists its {what}; copy it "
                "there, or pass bed_reader.open_bed(path, fam_location=..., bim_location=...)"
            )
        return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]

    def __repr__(self):
        return f"{Path(self.path).name}, 2 bits a genotype"

    def read(self, rows, start, stop, buffer=None):
        """Packed design of the columns start:stop; rows must be all."""
        size = (stop - start) * self.width
        raw = (
            np.empty(size, dtype=np.uint8)
            if buffer is None or buffer.size < size
            else buffer[:size]
        )
        self.file.fill(raw, 3 + start * self.width)
        packed = raw.reshape(stop - start, self.width)
        if self.n % 4:
            packed[:, -1] |= np.uint8(0xFF & ~((1 << (2 * (self.n % 4))) - 1))
        return Packed(packed, self.n, self.mean[start:stop])

    def ahead(self, start, stop):
        """Let the system fetch these columns from the disk."""
        self.file.ahead(3 + start * self.width, (stop - start) * self.width)
