// Package formats holds the tests of the three file formats as a user meets them: every key is documented in
// docs/formats.md, every key that is said to have an effect moves a named result to a value worked out by hand, and
// every other key moves nothing.
package formats
