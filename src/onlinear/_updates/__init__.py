"""Update rules that several algorithms share: Gaussian, dual, ball projection, rescaling."""
