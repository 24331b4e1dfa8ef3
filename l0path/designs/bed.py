"""PLINK genotypes as they are stored, 2 bits each: products by table look-up of four genotypes at a time, missing ones imputed by their column's mean.

Format (PLINK 1.9, variant-major): three magic bytes, then ceil(n / 4) bytes a column; the genotype of row i has bits 2 (i mod 4) and above of byte i // 4: 00 two copies of allele A1, 10 one, 11 none, 01 missing.
"""
import os
from pathlib import Path

import numpy as np

from l0path._generic import njit
from l0path.designs.checks import check_shape
from l0path.designs.contiguous import Contiguous

MAGIC = b"\x6c\x1b\x01"
COPIES = np.array([2.0, np.nan, 1.0, 0.0])  # of A1, by code; as bed-reader counts with count_A1=True
CODES = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3  # (256, 4): the codes of a byte
VALUES = np.nan_to_num(COPIES)[CODES]  # (256, 4): copies, 0 for a missing one
MISSING = (CODES == 1).astype(np.float64)
COPIES_OF, MISSING_OF = VALUES.sum(axis=1).astype(np.int64), MISSING.sum(axis=1).astype(np.int64)
STEP = 32  # bytes of a column added up before the next column: their part of the table, 64 KB, stays in cache
FEW = 3  # right-hand sides up to which look-up beats decoding and BLAS
TILE = 1 << 17  # genotypes decoded before a product: 1 MB


@njit
def _tables(values, r, out):
    """out[i, b] = sum over the four rows of byte i of values[b, .] r, for values (256, 4), r (4 w,), out (w, 256)."""
    for i in range(out.shape[0]):
        for b in range(256):
            out[i, b] = values[b, 0] * r[4 * i] + values[b, 1] * r[4 * i + 1] + values[b, 2] * r[4 * i + 2] + values[b, 3] * r[4 * i + 3]


@njit
def _look_up(packed, n, table, absent, copies, missing, step, out):
    """out[c] = x_c'r for packed (q, w) columns; table, absent (w, 256): sums of copies times r, and of r over missing genotypes; copies, missing (256,): counts in a byte."""
    q, width = packed.shape
    for c in range(q):
        out[c] = 0.0
    for first in range(0, width, step):
        last = min(first + step, width)
        whole = first + (last - first) // 4 * 4
        for c in range(q):
            column = packed[c]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for i in range(first, whole, 4):
                s0 += table[i, column[i]]
                s1 += table[i + 1, column[i + 1]]
                s2 += table[i + 2, column[i + 2]]
                s3 += table[i + 3, column[i + 3]]
            for i in range(whole, last):
                s0 += table[i, column[i]]
            out[c] += (s0 + s1) + (s2 + s3)
    for c in range(q):
        column, seen = packed[c], 0
        for i in range(width):
            b = column[i]
            seen |= b & ~(b >> 1) & 0x55
        if seen:
            total, none, share = 0, 0, 0.0
            for i in range(width):
                total += copies[column[i]]
                none += missing[column[i]]
                share += absent[i, column[i]]
            out[c] += share * total / max(n - none, 1)


@njit
def _decode(packed, n, values, missing, out):
    """out[c] = x_c for packed (q, w), out (q, n); values (256, 4) copies, 0 where missing, and the column's mean then added."""
    for c in range(packed.shape[0]):
        column, row, none = packed[c], out[c], 0
        whole = n // 4
        for i in range(whole):
            b = column[i]
            row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3] = values[b, 0], values[b, 1], values[b, 2], values[b, 3]
            none += missing[b]
        for i in range(4 * whole, n):
            row[i] = values[column[whole], i - 4 * whole]
        if n > 4 * whole:
            none += missing[column[whole]]
        if none:
            total = 0.0
            for i in range(n):
                total += row[i]
            mean = total / max(n - none, 1)
            for i in range(n):
                if (column[i // 4] >> (2 * (i % 4))) & 3 == 1:
                    row[i] = mean


class Tables:
    """Right-hand sides R (n, m) made ready for packed columns: tables for a few, else R."""

    def __init__(self, R):
        n, m = R.shape
        self.R, self.pairs = R, None
        if m <= FEW:
            width = -(-n // 4)
            padded, self.pairs = np.zeros((m, 4 * width)), np.empty((m, 2, width, 256))
            padded[:, :n] = R.T
            for k in range(m):
                _tables(VALUES, padded[k], self.pairs[k, 0])
                _tables(MISSING, padded[k], self.pairs[k, 1])


class Packed:
    """Design of some columns (q, ceil(n / 4)) of a BED file, all rows. Bits beyond row n must be set."""

    def __init__(self, packed, n):
        self.packed, self.n, self.p = packed, n, packed.shape[0]

    def decoded(self, left=0, right=None, out=None):
        """Columns left:right as float64 (n, right - left), Fortran order."""
        part = self.packed[left : self.p if right is None else right]
        out = np.empty((part.shape[0], self.n)) if out is None else out[: part.shape[0] * self.n].reshape(part.shape[0], self.n)
        _decode(part, self.n, VALUES, MISSING_OF, out)
        return out.T

    def correlate(self, R):
        """X'R (p, m) for `Tables` of R (n, m)."""
        m = R.R.shape[1]
        if R.pairs is not None:
            out = np.empty((m, self.p))
            for k in range(m):
                _look_up(self.packed, self.n, R.pairs[k, 0], R.pairs[k, 1], COPIES_OF, MISSING_OF, STEP, out[k])
            return out.T
        width = max(1, TILE // self.n)
        out, scratch = np.empty((self.p, m)), np.empty(width * self.n)
        for left in range(0, self.p, width):
            block = self.decoded(left, left + width, scratch)
            np.matmul(block.T, R.R, out=out[left : left + width])
        return out

    def moments(self, weights, center):
        """See `Dense.moments`."""
        width = max(1, TILE // self.n)
        mean, second, scratch = np.empty(self.p), np.empty(self.p), np.empty(width * self.n)
        for left in range(0, self.p, width):
            mean[left : left + width], second[left : left + width] = Contiguous(self.decoded(left, left + width, scratch)).moments(weights, center)
        return mean, second

    def columns(self, J):
        """See `Dense.columns`."""
        J = np.asarray(J, dtype=np.intp)
        return Packed(np.ascontiguousarray(self.packed[J]), self.n).decoded()

    def nonfinite(self):
        """None: missing genotypes are imputed."""
        return np.zeros(self.p, dtype=np.int64)


class BedSource:
    """A PLINK .bed file with its .fam and .bim beside it, or n and p given. Entries are copies of A1, missing ones the mean of the column's others over all rows of the file."""

    def __init__(self, path, n=None, p=None):
        self.path = str(path)
        bim = Path(self.path).with_suffix(".bim")
        self.names = None
        if bim.exists():
            with open(bim, encoding="utf-8") as lines:
                self.names = [line.split(None, 2)[1] for line in lines if line.strip()]
        self.n, self.p = self._count(".fam", "rows (n)", n), self._count(".bim", "columns (p)", p) if self.names is None else len(self.names)
        check_shape((self.n, self.p), "source")
        self.width = -(-self.n // 4)
        self.nbytes, self.dtype, self.chunk, self.parallel = self.p * self.width, np.dtype(np.float64), (self.n, 1), True
        self._open()
        magic = self._file.read(3)
        if magic != MAGIC:
            raise ValueError(f"source {self.path} begins with {magic.hex()}, a variant-major PLINK .bed file with {MAGIC.hex()}; write it anew with plink --make-bed")
        if os.path.getsize(self.path) != 3 + self.nbytes:
            raise ValueError(f"source {self.path} has {os.path.getsize(self.path)} bytes; {self.n} rows and {self.p} columns need {3 + self.nbytes}: are .fam and .bim of the same file?")

    def _count(self, suffix, what, given):
        """Lines of the file beside the .bed."""
        if given is not None:
            return int(given)
        file = Path(self.path).with_suffix(suffix)
        if not file.exists():
            raise FileNotFoundError(f"source {self.path} needs {file.name} beside it, which says how many {what} it has; or pass bed_reader.open_bed(path, iid_count=..., sid_count=...)")
        with open(file, encoding="utf-8") as lines:
            return sum(1 for line in lines if line.strip())

    def _open(self):
        self._file = open(self.path, "rb", buffering=0)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_file"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    def __repr__(self):
        return f"{Path(self.path).name}, 2 bits a genotype"

    def prepare(self, R):
        """What `Packed.correlate` takes."""
        return Tables(R)

    def read(self, rows, left, right, buffer=None):
        """Packed design of the columns left:right; rows must be all."""
        size = (right - left) * self.width
        raw = np.empty(size, dtype=np.uint8) if buffer is None or buffer.size < size else buffer[:size]
        done = 0
        while done < size:
            got = os.preadv(self._file.fileno(), [raw[done:]], 3 + left * self.width + done)
            if not got:
                raise OSError(f"source {self.path} was cut short while it was read")
            done += got
        packed = raw.reshape(right - left, self.width)
        if self.n % 4:
            packed[:, -1] |= np.uint8(0xFF & ~((1 << (2 * (self.n % 4))) - 1))
        return Packed(packed, self.n)

    def ahead(self, left, right):
        """Let the system fetch these columns from the disk."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), 3 + left * self.width, (right - left) * self.width, os.POSIX_FADV_WILLNEED)
