// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusters is the way to clusters whose kubeconfigs people put into Secrets.
//
// Whoever may write such a Secret is not trusted with this server: no program is run and no file is read for a kubeconfig,
// no credentials go to a cluster that cannot prove who it is, nor to where it redirects, nor in clear text, no connection goes
// to a metadata service (see package outbound), every request has a deadline and every answer an end, and no error quotes what
// is in the Secret.
//
// Turns bound how many owners use such clusters at a time, in the order in which they asked.
//
// The package keeps no connections and does not know what is done there.
package clusters
