// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Place is where a release is.
type Place struct {
	Name, Namespace string
	// Storage is the namespace of Helm's Secrets.
	Storage string
}

// Left says why the release at a place is not that of the HelmRelease any more; empty if it is.
func Left(was, is Place) string {
	for _, part := range []struct{ what, was, is string }{
		{"storage namespace", was.Storage, is.Storage}, {"namespace", was.Namespace, is.Namespace}, {"name", was.Name, is.Name},
	} {
		if part.was != part.is {
			return fmt.Sprintf("the %s of the release changes from %s to %s", part.what, part.was, part.is)
		}
	}
	return ""
}

// ReleaseName returns a name that Helm accepts. Flux shortens long ones in the same way, so each finds the
// releases of the other.
func ReleaseName(name string) string {
	const longest, hash = 53, 12
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:longest-hash-1] + "-" + hex.EncodeToString(sum[:])[:hash]
}

// Deployment identifies a version of a release by what all controllers record of it.
type Deployment struct {
	Name, Namespace     string
	Number              int
	Chart, ChartVersion string
	First, Last         time.Time
}

// Same reports whether two records are of one deployment. Statuses have times in seconds.
func (d Deployment) Same(e Deployment) bool {
	d.First, d.Last, e.First, e.Last = second(d.First), second(d.Last), second(e.First), second(e.Last)
	return !d.Last.IsZero() && d == e
}

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
