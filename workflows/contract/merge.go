package contract

// Strategy is what a merge does with the manifests that its request does not hold.
type Strategy string

// Strategies. The empty one means merge.
const (
	// StrategyMerge replaces manifests of the same identity in their place, keeps the others and appends the new ones.
	StrategyMerge Strategy = "merge"
	// StrategyReplace also removes the manifests of the same owner that the request does not hold: those with the label
	// hyperfleet.io/adapter of the request's adapter, and those without such a label whose kind the request holds.
	// Removing all of them must be forced.
	StrategyReplace Strategy = "replace"
)
