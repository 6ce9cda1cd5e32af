// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Acknowledgeable returns the unproven resources that an acknowledgement takes off the list: those of
// the last run that the person has seen and of earlier ones, empty for all that are listed now; with
// addresses only these. upTo is that run.
func Acknowledgeable(t *infrav1.Terraform, seen string, addresses []string) (list *infrav1.UnprovenStatus, upTo string, err error) {
	u := t.Status.Unproven
	if u == nil || len(u.Runs) == 0 {
		return nil, "", &Refusal{"no resource is unproven", "See", "status", true}
	}
	last := u.Runs[len(u.Runs)-1].ID
	if seen > last && !slices.ContainsFunc(u.Runs, func(r infrav1.UnprovenRun) bool { return r.ID == seen }) {
		return nil, "", &Refusal{fmt.Sprintf("run %s is not listed, the last one is %s", seen, last), "To see the list", "status", true}
	}
	upTo = cmp.Or(seen, last)
	list = unproven(u, upTo, addresses)
	for _, address := range addresses {
		if !slices.ContainsFunc(list.Resources, func(r infrav1.UnprovenResource) bool { return r.Called(address) }) {
			return nil, "", &Refusal{fmt.Sprintf("%s is not listed", address), "To see the list", "status", true}
		}
	}
	if len(list.Resources)+len(list.Runs) == 0 {
		return nil, "", &Refusal{fmt.Sprintf("nothing of run %s or of earlier runs is listed", seen), "To see the list", "status", true}
	}
	return list, upTo, nil
}

// Acknowledge takes unproven resources off the list, see [Acknowledgeable].
func Acknowledge(t *infrav1.Terraform, upTo string, addresses []string) Change {
	return Change{}.Annotate(map[string]any{infrav1.AnnotationAcknowledged: acknowledgement(upTo, t.Annotations[infrav1.AnnotationAcknowledged], addresses)})
}

// unproven returns the acknowledged part of a list: the resources of a run and of earlier runs,
// or only those at the given addresses.
func unproven(u *infrav1.UnprovenStatus, upTo string, addresses []string) *infrav1.UnprovenStatus {
	seen, listed := &infrav1.UnprovenStatus{}, u.UpTo(upTo)
	for _, r := range u.Resources {
		if listed(r.Run) && (len(addresses) == 0 || slices.ContainsFunc(addresses, r.Called)) {
			seen.Resources = append(seen.Resources, r)
		}
	}
	for _, r := range u.Runs {
		if listed(r.ID) && len(addresses) == 0 && (r.More > 0 || r.Note != "") {
			seen.Runs = append(seen.Runs, r)
		}
	}
	return seen
}

// acknowledgement is the annotation's value. It keeps addresses that were acknowledged before,
// because the server may not have seen them yet.
func acknowledgement(upTo, before string, addresses []string) string {
	if len(addresses) == 0 {
		return upTo
	}
	lines := append([]string{upTo}, addresses...)
	if last, rest, some := strings.Cut(before, "\n"); last == upTo {
		if !some {
			return upTo
		}
		lines = append(lines, strings.Split(rest, "\n")...)
	}
	slices.Sort(lines[1:])
	return strings.Join(slices.Compact(lines), "\n")
}
