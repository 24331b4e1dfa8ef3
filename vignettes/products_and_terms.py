# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does it matter for whom? Products of terms, and the terms that they contain
#
# Smoking during pregnancy goes with a lighter child. More so for some? That is a
# question about an interaction, a product of two terms, and it has a trap: a product of
# factors means something only beside the terms that it contains. This page shows the
# trap, and then asks the question rightly. The data are 1387 births in the United
# States (Mullahy, Review of Economics and Statistics 79, 1997), the weight in ounces.

# %%
import l0path

from common import SHORT, births_with_factors, products_beside_terms, weights_by_factor

# %% [markdown]
# ## What the eye sees
#
# Cigarettes per day, years of school and the birth order are factors, because nobody
# knows that their effects are straight lines. Are the lines parallel?

# %% tags=["thumbnail"]
births = births_with_factors()
weights_by_factor(births)

# %% [markdown]
# Children of smokers are lighter in every group. The lines are not quite parallel, and
# with that many groups some would not be even if nothing but chance were at work.
#
# ## The coding must not matter
#
# Six terms have fifteen products of two. Without the terms that it contains, a product
# of factors depends on which level comes first: here are the same data, with two
# codings of smoking, and `heredity=None`, which lets everything in.

# %%
TERMS = ["smoking", "school", "birth", "sex", "ethnicity", "log_income"]
PRODUCTS = f"weight ~ ({' + '.join(TERMS)})**2"
for levels in (["none", "1 to 10", "more"], ["more", "none", "1 to 10"]):
    coded = births.assign(smoking=births.smoking.cat.reorder_categories(levels))
    for heredity in (None, "strong"):
        model = l0path.fit(PRODUCTS, coded, heredity=heredity, max_k=2).model(k=2)
        print(f"{levels[0]} first, heredity {heredity}: {' + '.join(model.groups)}")

# %% [markdown]
# With `heredity="strong"`, the default where an interaction contains a factor, the
# answer does not depend on the coding. So the question is: what does a product add to a
# model that has all six terms? They are put into every model, `k` counts what comes on
# top, and the folds say whether it helps births that the fit has not seen. The same
# folds are used for all sizes, so the differences are sharper than the standard errors.

# %%
options = {"always_include": TERMS, "max_k": 6, "random_state": 1}
folds = {"cv": 5, "n_repeats": 1} if SHORT else {"cv": 10, "n_repeats": 3}
beside = l0path.cv_fit(PRODUCTS, births, lambda2=0, **folds, **options)
products_beside_terms(beside)
print("the best product:", beside.model(k=1).groups[-1])

# %% [markdown]
# No criterion and no fold wants a product. "No interaction was found" is what may be
# said; that there is none would need more births.
#
# ## What to take along
#
# * Give products as a formula, `(a + b)**2` or `a * b`. `heredity="strong"` is the
#   default where an interaction contains a factor.
# * To judge products, put all single terms into every model (`always_include=`) and
#   look at what a product adds on held-out rows.
# * A picture of some groups finds differences everywhere; it does not say which would
#   be seen again.
