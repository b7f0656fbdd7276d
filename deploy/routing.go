package deploy

// Routing is how requests are assigned to the ranks of a pool.
type Routing string

const (
	RoundRobin  Routing = "round-robin"
	LeastLoaded Routing = "least-loaded" // to the rank with the fewest requests
	PrefixAware Routing = "prefix-aware" // to the one that has most of the prompt in its cache, unless the load is uneven
)

var Routings = []string{string(RoundRobin), string(LeastLoaded), string(PrefixAware)}
