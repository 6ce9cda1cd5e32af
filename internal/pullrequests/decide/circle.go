// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"
)

// Waiting is a request of a pull request, By, that waits for a stack that another one, For, has locked.
type Waiting struct {
	By, For string
	// Since is when somebody asked.
	Since time.Time
}

// before orders requests: by their time, and then by the names of their pull requests.
func (w Waiting) before(o Waiting) bool {
	if !w.Since.Equal(o.Since) {
		return w.Since.Before(o.Since)
	}
	return w.By < o.By
}

// Circle returns the pull requests that wait for each other in a circle whose latest request is w; nil if there is none.
// Each circle has exactly one latest request: when that ends, the others can go on, and no request ends without need.
func Circle(w Waiting, all []Waiting) []string {
	if w.By == w.For {
		return nil
	}
	seen := map[string]bool{}
	var path []string
	var leads func(from string) bool
	leads = func(from string) bool {
		if from == w.By {
			return true
		}
		if seen[from] {
			return false
		}
		seen[from], path = true, append(path, from)
		for _, o := range all {
			if o.By == from && o.before(w) && leads(o.For) {
				return true
			}
		}
		path = path[:len(path)-1]
		return false
	}
	if !leads(w.For) {
		return nil
	}
	circle := append([]string{w.By}, path...)
	slices.Sort(circle)
	return circle
}
