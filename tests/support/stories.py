"""A few newswire stories, as test documents."""

STORIES = [
    "Wheat and corn prices rose 5.9 pct on Monday.",
    "Corn, corn and more corn: exports of 155,221 tonnes.",
    "",
    "Crude oil prices fell; oil exports of 340,118 tonnes.",
    "The Bank of England and the rest",
    "Oil, wheat, corn and gold: prices in 1987",
    "Gold prices fell 2.5 pct as oil rose",
    "Wheat exports rose, corn exports fell",
]
