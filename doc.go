// Package throughline predicts how large language models run on hardware, finds the best deployment
// and explains it: a question goes in, an answer comes out.
//
// A [Question] is words for settings, by the names and in the units that the flags of the command line have:
//
//	throughline.Question{"model": "Llama-3.1-8B", "system": "H200", "tp": "2"}
//
// [Estimate] predicts the deployment that a question fixes and [Explain] says why it is as fast as it is,
// [Plan] searches for the best deployments, and [Simulate] sends requests through one. Answers are written
// to JSON with the keys that the commands of the same names write with --json; remarks on the question, which
// the commands print to standard error, come with them. An error holds everything that is wrong with a
// question, a line for each problem.
//
// The package is unstable until the first release: names and types may change. The embedded types lie in
// internal packages and are for the commands of this module; other programs read the JSON.
package throughline
