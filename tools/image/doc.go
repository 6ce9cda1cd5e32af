// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command image builds Yuba's container images without a daemon, and pushes them.
//
//	image [-platforms OS/ARCH,...] [-version VERSION] [-repository NAME] [-out DIR]
//	image push [-from DIR] [-to REPOSITORY]
//
// "make image" and "make image-push" start it. The images:
//
//   - yuba has the server and its static programs, and CA certificates. It has no shell.
//   - yuba-runner has the programs of runs (yuba-runner, yuba-sandbox and tofu), git, ssh, a shell
//     and CA certificates.
//
// Terms:
//
//   - The output is an OCI image layout with an index for each image, which has a manifest for each
//     platform. Each manifest has a bill of materials (SPDX) that refers to it, which is also a
//     file of the output.
//   - A tree is the content of a layer. The layers are Debian's files, tofu, and Yuba's programs,
//     so that nodes download little for an upgrade.
//   - A package is one of Debian. apt resolves and verifies packages in a directory of its own,
//     for any architecture; the machine's configuration of apt stays unchanged. Maintainer scripts
//     do not run.
//
// Images are reproducible: they depend only on the commit, the version of Go and the versions of
// Debian's packages. All files have the same time, so a layer with the same files has the same
// digest in every version.
package main
