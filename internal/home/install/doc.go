// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package install installs Yuba's kinds and the cluster roles for view, edit and admin in a new or
// older API. It uses server-side apply with field manager "yuba", so fields of others stay. If
// everything is installed already, it changes nothing.
//
// In an API that others also use, Takeover first decides about each kind: it replaces that of a
// tofu-controller, leaves those of Flux and of a Tenant Operator, and refuses to replace one that
// has fields which Yuba's lacks, because the API server would drop them from all objects.
package install
