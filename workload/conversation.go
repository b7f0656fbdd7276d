package workload

// Behind is the lengths of requests that start with a shared prompt, cached or not.
func (l Lengths) Behind(prompt int, cached bool) Lengths {
	if prompt <= 0 {
		return l
	}
	mean, all := float64(l.Input), float64(l.Input+prompt)
	squares := mean*mean*l.AttentionScale() + 2*mean*float64(prompt) + float64(prompt)*float64(prompt)
	l.LongestInput, l.Longest = l.MaxInput()+prompt, l.MaxFinal()+prompt
	l.Input += prompt
	if cached {
		l.Cached += prompt
	}
	l.Squares = squares / (all * all)
	return l
}

// Turns is the mean lengths of turns: the conversation so far, cached or not, and a new input.
func (l Lengths) Turns(turns int, cached bool) Lengths {
	if turns <= 1 {
		return l
	}
	in, out, n := float64(l.Input), float64(l.Output), float64(turns)
	vary := l.AttentionScale() - 1 // of the lengths, relative to the squares of their means
	var sum, squares float64
	for i := range turns {
		before := float64(i)
		mean := in + before*(in+out)
		sum += mean
		squares += mean*mean + vary*((before+1)*in*in+before*out*out)
	}
	most := l.MaxFinal()
	l.LongestInput, l.Longest = (turns-1)*most+l.MaxInput(), turns*most
	history := int((n - 1) / 2 * (in + out))
	l.Input += history
	if cached {
		l.Cached += history
	}
	l.Squares = squares / n / (sum / n * sum / n)
	return l
}
