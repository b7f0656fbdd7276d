package runs

import (
	"cmp"
	"strconv"
	"strings"
)

// Server is how the ranks of a server share attention and experts; TP is 0 where it is not said.
type Server struct{ TP, DP, EP int }

// ServerOf reads a server from benchmarks that count all its ranks as tp, which data-parallel
// attention then divides. The columns are tp, dp, ep, dp_attention, workers and gpus, after the
// prefix of a pool. Wide: experts are spread over all ranks.
func ServerOf(cell func(column string) string, prefix string, wide bool) Server {
	count := func(column string) int {
		n, _ := strconv.Atoi(cell(prefix + column))
		return n
	}
	s := Server{TP: count("tp"), DP: max(1, count("dp"))}
	if workers, gpus := count("workers"), count("gpus"); workers > 0 && gpus > 0 {
		s.TP = gpus / workers // some tables count the ranks of a part of a server as tp
	}
	if s.TP < 1 {
		return Server{}
	}
	ranks := s.TP * s.DP
	// SGLang ignores data-parallel attention of one replica (_handle_data_parallelism in
	// python/sglang/srt/server_args.py of 0.5.3 to 0.5.9); other engines have no such pair.
	one := cell(prefix+"dp") == "1"
	if strings.EqualFold(cmp.Or(cell(prefix+"dp_attention"), cell("dp_attention")), "true") && !one {
		ranks = s.TP
		if s.DP == 1 {
			s.DP = s.TP
		}
		s.TP = max(1, ranks/s.DP)
	}
	if s.EP = min(max(1, count("ep")), ranks); wide {
		s.EP = ranks
	}
	return s
}

// Cells writes the sizes by column; what ep leaves of the ranks becomes moe_tp.
func (s Server) Cells(prefix string, into map[string]string) {
	for name, n := range map[string]int{"tp": s.TP, "dp": s.DP, "ep": s.EP, "moe_tp": max(1, s.TP*s.DP/max(1, s.EP))} {
		into[prefix+name] = strconv.Itoa(n)
	}
}
