// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

// URL is where clients reach the API.
func (p *ControlPlane) URL() string { return p.url() }
