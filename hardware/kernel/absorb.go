package kernel

var absorbed = sectionOf("absorb", func(s *Set) *map[string]*GroupedModel { return &s.Absorb })

// Engines extract what is absorbed from narrower weights at load time and multiply it in 16 bits.
var absorbSlot = slot{
	section: &absorbed, name: "absorbed products", row: "mla_absorb", peak: WidePeak,
	axes: "tokens, heads · n, k", of: "products of heads that latent attention absorbs, in 16 bits: engines take them out of narrower weights when they load them",
	pick: func(s *Set, t *Types) []string {
		if t.Wide == "" {
			return nil
		}
		return typed(&absorbed, s, "bfloat16")
	},
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Absorb[key].prepare(&Types{}) },
}
