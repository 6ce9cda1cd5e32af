// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sealing has the command "yuba archive" and those below it: they write stacks with their
// states, histories and manifests to one sealed file, and verify, list and restore such files.
//
//	command.go     yuba archive, and its flags
//	choose.go      which stacks
//	pack.go        what the archive has of a stack; objects.go manifests and inputs
//	references.go  which Secrets and ConfigMaps an object names
//	wipe.go        deletes credentials, and proves that they are gone
//	look.go        yuba archive verify and show
//	restore.go     yuba archive restore; parcel.go makes histories importable again
//
// Package sealed has the format. An archive changes nothing but the Secrets of --wipe-credentials, and
// those only after the archive was read back and verified.
package sealing
