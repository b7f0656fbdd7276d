package advice

// sizes lists instance sizes: up to 8, multiples of four or divisors of a node, and whole nodes.
func sizes(gpus, perNode int) []int {
	var out []int
	for n := 1; n <= min(gpus, perNode-1); n++ {
		if n <= 8 || n%4 == 0 || perNode%n == 0 {
			out = append(out, n)
		}
	}
	for nodes := 1; nodes*perNode <= gpus; nodes = nextCount(mostNodes, nodes+1) {
		out = append(out, nodes*perNode)
	}
	return out
}
