// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// The operators of conditions.
const (
	in           = "In"
	notIn        = "NotIn"
	exists       = "Exists"
	doesNotExist = "DoesNotExist"
)

// wrong says what is wrong with a condition. One of no values would leave out all rows, or none:
// whoever wrote it meant something else.
func wrong(c tenantv1.RowCondition) string {
	switch {
	case c.Column == "" || strings.ContainsRune(c.Column, 0):
		return "a condition in spec.source.where names no column"
	case c.Operator == exists || c.Operator == doesNotExist:
		if len(c.Values) > 0 {
			return fmt.Sprintf("the condition about column %s has values, which %s does not look at", quoted(c.Column), c.Operator)
		}
	case c.Operator != in && c.Operator != notIn:
		return fmt.Sprintf("the condition about column %s has the operator %s; there are In, NotIn, Exists and DoesNotExist", quoted(c.Column), quoted(c.Operator))
	case len(c.Values) == 0:
		return fmt.Sprintf("the condition about column %s has no values", quoted(c.Column))
	}
	for _, value := range c.Values {
		// PostgreSQL knows no such text; what one source refuses is refused on all.
		if strings.ContainsRune(value, 0) {
			return fmt.Sprintf("the condition about column %s has a value with a NUL in it", quoted(c.Column))
		}
	}
	return ""
}

// holds tells whether a value meets a condition. The statements of databases say the same.
func holds(c tenantv1.RowCondition, value sql.NullString) bool {
	switch c.Operator {
	case exists:
		return value.Valid
	case doesNotExist:
		return !value.Valid
	case in:
		return value.Valid && slices.Contains(c.Values, legible(value.String))
	}
	// NULL is none of the values.
	return !value.Valid || !slices.Contains(c.Values, legible(value.String))
}
