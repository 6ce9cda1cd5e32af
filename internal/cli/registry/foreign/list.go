// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// maxPages limits the pages of a list; each has a hundred modules.
const maxPages = 1000

// CannotListError means that a registry has no list of modules: modules.v1 has none, and it offers
// none of the APIs that have one.
type CannotListError struct{ Host, Namespace string }

func (e *CannotListError) Error() string {
	return fmt.Sprintf("%s does not list its modules: modules.v1 has no list, and the registry has neither Terraform Enterprise's API nor Yuba's. Name each module: %s/%s/NAME/SYSTEM",
		e.Host, e.Host, e.Namespace)
}

// Listed is a module in a list.
type Listed struct {
	// Module is NAMESPACE/NAME/SYSTEM.
	Module string
	// NoCode marks modules that Terraform Enterprise offers for no-code provisioning. The versions are
	// ordinary ones; what is particular about them is not in the registry's protocol.
	NoCode bool
}

// Modules lists the modules of a namespace, sorted by name.
func (r *Registry) Modules(ctx context.Context, namespace string) (list []Listed, err error) {
	for _, name := range []string{"tfe.v2.2", "tfe.v2.1", "tfe.v2"} {
		if base := r.services[name]; base != nil && err == nil && list == nil {
			list, err = r.enterpriseModules(ctx, base, namespace)
			if err == nil {
				return sorted(list), nil
			}
		}
	}
	if err == nil {
		list, err = r.yubaModules(ctx, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("list the modules of %s/%s: %w", r.Host, namespace, err)
	}
	return sorted(list), nil
}

func sorted(list []Listed) []Listed {
	slices.SortFunc(list, func(a, b Listed) int {
		if a.Module < b.Module {
			return -1
		}
		return 1
	})
	return list
}

// enterpriseModules asks the API of Terraform Enterprise and HCP Terraform. Modules of the public
// registry that an organization only refers to are left out: they are not in this one.
func (r *Registry) enterpriseModules(ctx context.Context, base *url.URL, organization string) (list []Listed, err error) {
	list = []Listed{}
	for page := 1; page > 0; {
		if page > maxPages {
			return nil, fmt.Errorf("the list has more than %d pages", maxPages)
		}
		u := base.JoinPath("organizations", organization, "registry-modules")
		u.RawQuery = url.Values{"page[number]": {strconv.Itoa(page)}, "page[size]": {"100"}}.Encode()
		var answer struct {
			Data []struct {
				Attributes struct {
					Name, Namespace, Provider string
					Registry                  string `json:"registry-name"`
					NoCode                    bool   `json:"no-code"`
				} `json:"attributes"`
			} `json:"data"`
			Meta struct {
				Pagination struct {
					Next *int `json:"next-page"`
				} `json:"pagination"`
			} `json:"meta"`
		}
		if _, err := r.ask(ctx, u, &answer); err != nil {
			return nil, err
		}
		for _, m := range answer.Data {
			if a := m.Attributes; a.Registry != "public" {
				namespace := a.Namespace
				if namespace == "" { // releases before 2021
					namespace = organization
				}
				list = append(list, Listed{Module: namespace + "/" + a.Name + "/" + a.Provider, NoCode: a.NoCode})
			}
		}
		next := answer.Meta.Pagination.Next
		switch {
		case next == nil:
			page = 0
		case *next <= page:
			return nil, errors.New("the list has no end: a page names an earlier one as the next")
		default:
			page = *next
		}
	}
	return list, nil
}

// yubaModules asks another Yuba.
func (r *Registry) yubaModules(ctx context.Context, namespace string) (list []Listed, err error) {
	var answer content.ModuleList
	_, err = r.ask(ctx, &url.URL{Scheme: "https", Host: r.Host, Path: content.PathPrefix + "/modules/" + namespace}, &answer)
	var status *StatusError
	if errors.As(err, &status) && (status.Code == http.StatusNotFound || status.Code == http.StatusMethodNotAllowed) {
		return nil, &CannotListError{r.Host, namespace}
	}
	if err != nil {
		return nil, err
	}
	list = []Listed{}
	for _, m := range answer.Items {
		list = append(list, Listed{Module: m.Module})
	}
	return list, nil
}
