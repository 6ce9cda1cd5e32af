// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller assembles the controllers of the three tenant kinds, and its tests run them
// together against a real API:
//
//   - package registry: rows of a database become Tenants
//   - package template: templates are checked, and report on their tenants
//   - package tenant: Tenants become objects
//
// They meet in the API, and through package passes. The clusters with objects of tenants are in
// package targets, the marks by which objects name their tenants in package ownerlabels.
package controller
