// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ownerlabels writes on objects which tenant they belong to, and reads it back.
//
// An object in the namespace of its tenant that is deleted with it has an owner reference. Retained
// objects, and those in other namespaces and clusters, have labels instead, which no garbage
// collector reads. In other clusters a label also names this server's API (the seal), because
// another server may have tenants of the same names there.
//
// The package implements [engine.Ownership]: from the marks, package engine decides whether it may
// write an object.
package ownerlabels
