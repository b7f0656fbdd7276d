package simulate

import "slices"

// compiled is the kernels that a server that has just started has compiled.
type compiled struct {
	tiles map[int]bool // for these numbers of tiles of products of prompts
	cut   bool         // for prompts with tokens in the cache
}

// compiling is how long the scheduled step of a server that has just started waits for kernels that
// no step before it has needed. Ranks compile side by side.
func (r *run) compiling(s *server) (seconds float64) {
	c := &r.Compiling
	if c.CutSeconds > 0 && !s.cut && slices.ContainsFunc(s.ranks, (*rank).cuts) {
		s.cut, seconds = true, c.CutSeconds
	}
	if c.Tile == 0 {
		return seconds
	}
	anew := false
	for _, k := range s.ranks {
		tiles := 0
		if len(k.chunks) > 0 {
			tiles = tilesOf(k.work.Tokens(), c.Tile)
		}
		if tiles == 0 || s.tiles[tiles] {
			continue
		}
		if s.tiles == nil {
			s.tiles = map[int]bool{}
		}
		s.tiles[tiles] = true
		anew = anew || !copied(k.work.Tokens(), tiles, r.Copied, c.Tile)
	}
	if anew {
		seconds += c.TileSeconds
	}
	return seconds
}

func tilesOf(tokens, tile int) int { return (tokens + tile - 1) / tile }

// copied reports whether whole copies of a prompt have as many tiles as these tokens.
func copied(tokens, tiles, prompt, tile int) bool {
	if prompt == 0 {
		return false
	}
	copies := max(1, (tokens+prompt/2)/prompt)
	return tilesOf(copies*prompt, tile) == tiles
}

// cuts reports whether the scheduled step leaves a prompt to be gone on with, or goes on with one.
func (r *rank) cuts() bool {
	return slices.ContainsFunc(r.work.Chunks, func(c Chunk) bool { return !c.Ends || c.Past > 0 })
}
