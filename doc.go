// Package throughline predicts how large language models run on hardware, finds the best deployment
// and explains it: a question goes in, an answer comes out.
//
// A [Question] sets the flags of the command line by name, in their units:
//
//	throughline.Question{"model": "Llama-3.1-8B", "system": "H200", "tp": "2"}
//
// [Estimate] predicts the deployment that a question fixes and [Explain] explains its time, [Plan]
// searches for the best deployments, and [Simulate] sends requests through one. Answers marshal to
// the JSON that the commands of the same names write with --json, and carry the remarks that those
// print to standard error. An error holds all problems of a question, a line for each.
//
// The package is unstable until the first release. The embedded types lie in internal packages and
// are for the commands of this module; other programs read the JSON.
package throughline
