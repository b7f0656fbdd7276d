// Package formats tests the file formats as a user meets them: every key is documented in
// docs/formats.md, every key that has an effect moves a named result to a value worked out by hand,
// and every other key moves nothing.
package formats
