// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

// URL returns the address of the API for clients.
func (p *ControlPlane) URL() string { return p.url() }
