// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequests

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// known is a pull request that a planner knows.
type known struct {
	Namespace                string `json:"namespace"`
	Planner                  string `json:"planner"`
	yubav1.PullRequestStatus `json:",inline"`
}

// name is SOURCE#NUMBER.
func (k *known) name() string { return fmt.Sprintf("%s#%d", k.Source, k.Number) }

// readPlanners lists the planners of a namespace, or of all.
func readPlanners(ctx context.Context, s *session.Session, namespace string) ([]yubav1.PullRequestPlanner, error) {
	planners, err := session.ListAs[yubav1.PullRequestPlanner](ctx, s, session.PullRequestPlanners, namespace)
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, ui.Exitf(ui.ExitNotFound, "this API does not have the kind %s. Install it:\n    yuba crds install", yubav1.PullRequestPlannerKind)
	}
	return planners, err
}

// knownOf are the pull requests of planners: by namespace and planner, the newest first.
func knownOf(planners []yubav1.PullRequestPlanner) []known {
	list := []known{}
	for i := range planners {
		p := &planners[i]
		for _, one := range p.Status.PullRequests {
			list = append(list, known{p.Namespace, p.Name, one})
		}
	}
	slices.SortStableFunc(list, func(a, b known) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Planner, b.Planner), cmp.Compare(b.Number, a.Number))
	})
	return list
}

// reference is NUMBER or SOURCE#NUMBER, with an optional planner.
type reference struct {
	planner, source string
	number          int32
}

func parseReference(text, planner string) (reference, error) {
	source, number, both := strings.Cut(text, "#")
	if !both {
		source, number = "", text
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 1 || both && source == "" {
		return reference{}, fmt.Errorf("%q is not a pull request: want NUMBER or SOURCE#NUMBER, such as 7 or infra#7", text)
	}
	return reference{planner, source, int32(n)}, nil
}

// find is the one that a reference names.
func find(list []known, r reference) (*known, error) {
	var found []*known
	var names []string
	for i := range list {
		k := &list[i]
		if k.Number == r.number && (r.source == "" || r.source == k.Source) && (r.planner == "" || r.planner == k.Planner) {
			found, names = append(found, k), append(names, k.name()+" of planner "+k.Planner)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, ui.Exitf(ui.ExitNotFound, "no planner knows the pull request %d. List those that are known:\n    yuba pr list", r.number)
	}
	return nil, ui.Exitf(ui.ExitUsage, "several pull requests have the number %d: %s. Name one as SOURCE#NUMBER, with --planner if needed", r.number, strings.Join(names, ", "))
}

// in is the namespace to list.
func in(s *session.Session, everywhere bool) string {
	if everywhere {
		return metav1.NamespaceAll
	}
	return s.Namespace
}
