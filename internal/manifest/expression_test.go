package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestParseExpressionReadsTerms(t *testing.T) {
	seven := Literal{Text: "7"}
	for text, want := range map[string]Term{
		"Applied":                                 {Type: "Applied", Status: "True"},
		"  Applied\t\n":                           {Type: "Applied", Status: "True", text: "Applied"},
		"(( Applied ))":                           {Type: "Applied", Status: "True", text: "Applied"},
		"Available=True":                          {Type: "Available", Status: "True"},
		"Available == False":                      {Type: "Available", Status: "False"},
		"Degraded = Unknown":                      {Type: "Degraded", Status: "Unknown"},
		"Complete":                                {Type: "Complete", Status: "True"},
		"Deleted":                                 {Type: "Deleted", Status: "True"},
		"Job:Complete":                            {Kind: "Job", Type: "Complete", Status: "True"},
		"Job.batch:Complete=False":                {Kind: "Job", Group: "batch", Type: "Complete", Status: "False"},
		"Job/prepare:Complete":                    {Kind: "Job", Name: "prepare", Type: "Complete", Status: "True"},
		"Job/team/prepare:Complete == Unknown":    {Kind: "Job", Namespace: "team", Name: "prepare", Type: "Complete", Status: "Unknown"},
		"Route.route.openshift.io/a/b:Ready":      {Kind: "Route", Group: "route.openshift.io", Namespace: "a", Name: "b", Type: "Ready", Status: "True"},
		"CronJob/a.b-c:example.test/Some-Type":    {Kind: "CronJob", Name: "a.b-c", Type: "example.test/Some-Type", Status: "True"},
		"ClusterRole/system:reader:Applied":       {Kind: "ClusterRole", Name: "system:reader", Type: "Applied", Status: "True"},
		"any(Job:Complete)":                       {Kind: "Job", Any: true, Type: "Complete", Status: "True"},
		"all ( Job:Complete )":                    {Kind: "Job", Type: "Complete", Status: "True"},
		"Job@ready==7":                            {Kind: "Job", Field: "ready", Operator: "==", Value: seven},
		"Job@ready = 7":                           {Kind: "Job", Field: "ready", Operator: "==", Value: seven},
		"Job/a/b@ready != 7":                      {Kind: "Job", Namespace: "a", Name: "b", Field: "ready", Operator: "!=", Value: seven},
		"any(Job@ready >= 7)":                     {Kind: "Job", Any: true, Field: "ready", Operator: ">=", Value: seven},
		"Job@ready|0 <= 7":                        {Kind: "Job", Field: "ready", Absent: &Literal{Text: "0"}, Operator: "<=", Value: seven},
		`Job@phase | "" == "7"`:                   {Kind: "Job", Field: "phase", Absent: &Literal{Quoted: true}, Operator: "==", Value: Literal{Text: "7", Quoted: true}},
		`Job@phase == 'it\'s "AND"'`:              {Kind: "Job", Field: "phase", Operator: "==", Value: Literal{Text: `it's "AND"`, Quoted: true}},
		"Job@status.items[0].a-b > 7":             {Kind: "Job", Field: "status.items[0].a-b", Operator: ">", Value: seven},
		`Job@"odd name" < 7`:                      {Kind: "Job", Field: "odd name", Exact: true, Operator: "<", Value: seven},
		"ClusterRole/system:reader@a==-1.5e3":     {Kind: "ClusterRole", Name: "system:reader", Field: "a", Operator: "==", Value: Literal{Text: "-1.5e3"}},
		"Job:status.succeeded = 7":                {Kind: "Job", Field: "status.succeeded", Old: true, Operator: "==", Value: seven},
		"Job/a:.status.succeeded>=7":              {Kind: "Job", Name: "a", Field: ".status.succeeded", Old: true, Operator: ">=", Value: seven},
		"Pod:PodPhase = Running":                  {Kind: "Pod", Field: "PodPhase", Old: true, Operator: "==", Value: Literal{Text: "Running"}},
		"Job:succeeded=7":                         {Kind: "Job", Field: "succeeded", Old: true, Operator: "==", Value: seven},
		"Job:status.conditions[0].status == True": {Kind: "Job", Field: "status.conditions[0].status", Old: true, Operator: "==", Value: Literal{Text: "True"}},
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := ParseExpression(text)
			require.NoError(t, err)
			if want.text == "" {
				want.text = text
			}
			assert.Equal(t, []Term{want}, expression.Terms())
		})
	}
}

func TestParseExpressionBindsNotBeforeAndBeforeOr(t *testing.T) {
	for text, want := range map[string]string{
		"Applied AND Available=True":                   "(Applied AND Available=True)",
		"Applied&&Available":                           "(Applied AND Available)",
		"Applied AND Applied\r\nAND Applied":           "(Applied AND Applied AND Applied)",
		"Applied OR Available AND Degraded":            "(Applied OR (Available AND Degraded))",
		"Applied||Available&&Degraded||Complete":       "(Applied OR (Available AND Degraded) OR Complete)",
		"(Applied) AND Available OR Degraded":          "((Applied AND Available) OR Degraded)",
		"(Applied OR Available) AND Degraded":          "((Applied OR Available) AND Degraded)",
		"NOT Applied AND Available":                    "(NOT Applied AND Available)",
		"!Applied||!(Available&&!Degraded)":            "(NOT Applied OR NOT (Available AND NOT Degraded))",
		"! ! NOT Applied":                              "NOT NOT NOT Applied",
		"Job@a==1 AND Job@b!=2||any(Job:Complete)":     "((Job@a==1 AND Job@b!=2) OR any(Job:Complete))",
		"Job:status.a = 1 && Job/b:status.c >= 2":      "(Job:status.a = 1 AND Job/b:status.c >= 2)",
		"Applied AND (Job:Failed OR NOT Job:Complete)": "(Applied AND (Job:Failed OR NOT Job:Complete))",
	} {
		expression, err := ParseExpression(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, expression.String(), text)
	}
}

func TestParseExpressionPointsAtTheProblem(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "position 1: a condition is missing here",
		"   ":                        "position 4: a condition is missing here",
		"AND":                        "position 1: a condition is missing before AND",
		"Applied AND":                "position 12: a condition is missing here",
		"Applied &&  ":               "position 13: a condition is missing here",
		"Applied OR Available OR":    "position 24: a condition is missing here",
		"Applied AND && Available":   "position 13: a condition is missing before &&",
		"Applied & Available":        "position 9: write && or AND",
		"Applied Available":          "position 9: join conditions with AND or OR",
		"Applied and Available":      "position 9: join conditions with AND or OR",
		"Applied NOT Available":      "position 9: join conditions with AND or OR",
		"(Applied OR":                "position 12: a condition is missing here",
		"(Applied OR Available":      "position 22: ) is missing for the ( at position 1",
		"(Applied Available)":        "position 10: join conditions with AND or OR, or close the ( at position 1",
		"Applied)":                   "position 8: ) has no (",
		"()":                         "position 2: a condition is missing before )",
		"NOT":                        "position 4: a condition is missing here",
		"not Applied":                `position 1: condition "not" of the work`,
		"Apllied":                    `position 1: condition "Apllied" of the work: give one of Applied, Available, Progressing, Degraded, Complete, Deleted, or Kind/name:Condition for a manifest; did you mean Applied?`,
		"available":                  "did you mean Available?",
		"NotReady":                   `condition "NotReady" of the work`,
		"Applied AND Ready":          `position 13: condition "Ready" of the work`,
		"Available=true":             `position 11: status "true": give True, False or Unknown`,
		"Available=":                 `position 11: status "": give True, False or Unknown`,
		`Available="True"`:           `position 11: status "\"True\"": give True`,
		"Available>=True":            "position 10: a condition has a status and no order",
		"Available!=True":            "position 10: a condition has a status and no order",
		"Available=True=True":        "position 15: = has nothing to compare before it",
		"=True":                      "position 1: a condition is missing before =",
		"Deleted AND Applied":        "position 1: Deleted stands alone",
		"Applied OR NOT Deleted":     "position 16: Deleted stands alone",
		"Deleted=False":              "position 1: Deleted stands alone",
		":Applied":                   `kind "": give Kind, Kind/name or Kind/namespace/name`,
		"job:Complete":               `kind "job": give Kind`,
		"Job.:Complete":              `kind "Job.": give Kind`,
		"Job.Batch:Complete":         `kind "Job.Batch"`,
		"Job:":                       `position 5: condition "": not a condition type`,
		"Job:Com plete":              `position 9: join conditions with AND`,
		"Job:9":                      `condition "9": not a condition type`,
		"Job:.status.succeeded":      `position 5: condition ".status.succeeded": not a condition type`,
		"Job/:Complete":              `name "" in "Job/": not an object's name`,
		"Job//a:Complete":            `name "" in "Job//a"`,
		"Job/a/b/c:Complete":         `"Job/a/b/c": give Kind, Kind/name or Kind/namespace/name`,
		"Job/-a:Complete":            `name "-a" in "Job/-a"`,
		"Job:Complete=true":          `position 14: status "true": give True, False or Unknown`,
		"Job:Complete=":              "position 14: a value is missing here",
		"Job:Complete|True = True":   "position 13: a default needs a feedback value: Job@Complete|…",
		"Verfügbar":                  `condition "Verfügbar" of the work`,
		"Applied\u00a0AND Available": "position 1: condition",
		"Job@ready":                  "position 10: compare ready with ==, !=, >=, <=, > or < and a value",
		"Job@ready AND Applied":      "position 11: compare ready with",
		"Job@ready >=":               "position 13: a value is missing here",
		"Job@ready >= AND":           "position 14: a value is missing before AND",
		"Job@ready >= == 1":          "position 14: a value is missing before ==",
		"Job@ready >= many":          "position 11: >= needs a number, or a text in quotes",
		"Job@ready|":                 "position 11: a default is missing here",
		"Job@ready|0":                "position 12: compare ready with",
		"Job@ == 1":                  `position 5: "": give the name of a feedback value`,
		"Job@a..b == 1":              `position 5: "a..b": give the name`,
		`Job@"" == 1`:                `position 5: "": give the name`,
		`Job@a == "1`:                "position 10: the text that begins here has no closing \"",
		`Job@a == "1\`:               "position 10: the text that begins here has no closing \"",
		"@a == 1":                    `position 1: kind ""`,
		"any(Applied)":               "position 5: any( takes a condition of manifests",
		"any(NOT Job:Complete)":      "position 5: any( takes one condition of manifests",
		"all(Job:A AND Job:B)":       "position 11: all( takes one condition: close it here",
		"any(Job:Complete":           "position 17: ) is missing for the ( at position 4",
		"any Job:Complete":           `position 1: condition "any" of the work`,
		strings.Repeat("(", 200):     "more than 100 parentheses and NOTs in each other",
		strings.Repeat("NOT ", 200):  "more than 100 parentheses and NOTs in each other",
		strings.Repeat("Applied AND ", 400) + "Applied": "position 4097: the limit is 4096",
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := ParseExpression(text)
			require.Error(t, err)
			assert.Empty(t, expression.Terms())
			assert.Contains(t, err.Error(), want)
			assert.Contains(t, err.Error(), "position ")
			assert.Contains(t, err.Error(), "wait condition ")
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestLongestExpressionIsTaken(t *testing.T) {
	text := strings.Repeat("Applied OR ", 400)[:contract.MaxConditionBytes-100]
	text = text[:strings.LastIndex(text, " OR ")] + strings.Repeat(" ", 50)
	_, err := ParseExpression(text)
	assert.NoError(t, err)
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		"", "Applied", "Applied AND Available=False", "Job.batch/team/a:Complete=Unknown && Applied", "ClusterRole/a:b:Applied", "( NOT", "A:B=C", "\xff",
		"NOT (Degraded OR !Available)", "any(Job@a.b[0]|0 >= 1.5)", `Job@"odd" == 'x\'y'`, "Pod:.status.phase = Running||Deleted", "all(A:B)!C", "Job@a|b|c==1",
	} {
		f.Add(text)
	}
	status := report(7, conditions{is("Applied", "True", 7)}, web(is("Ready", "True", 0)))
	work := workOf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		expression, err := ParseExpression(text)
		if err != nil {
			require.Contains(t, err.Error(), "position ")
			return
		}
		for _, term := range expression.Terms() {
			assert.NotEqual(t, term.Type == "", term.Operator == "", "a condition or a value")
			assert.Contains(t, text, term.String())
		}
		evaluation := Evaluate(status, 7, expression)
		assert.Equal(t, evaluation.Met, evaluation.Missing == "")
		if err := expression.CheckAgainst(work); err != nil {
			assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
			_, _ = AddFeedback(work.DeepCopy(), expression)
		}
		// What was read can be written down and read again, and means the same.
		again, err := ParseExpression(expression.String())
		if len(expression.String()) > contract.MaxConditionBytes || err != nil && strings.Contains(err.Error(), "in each other") || expression.AwaitsDeletion() {
			return
		}
		require.NoError(t, err)
		assert.Equal(t, expression.String(), again.String())
		assert.Equal(t, expression.Terms(), again.Terms())
	})
}
