"""Why tests of scikit-learn fail with gapfit in its place: rules by name, each for a reason.

docs/substitution.md says what the reasons mean. A rule is the beginning of a test's name.
"""

CONVENTION, MISSING = "convention", "missing"
RULES = {
    "steps": """test_max_iter test_zero_max_iter test_n_iter test_timeout test_libsvm_convergence_warnings
        test_linear_svm_convergence_warnings test_newton_cholesky_fallback_to_lbfgs test_warm_start_newton
        test_enet_coordinate_descent_raises_convergence
        test_warm_start_convergence_with_regularizer_decrement
        test_liblinear_dual_random_state test_sgd_random_state test_power_t_limits
        test_learning_rate_PA_raises test_adaptive_longer_than_constant test_average
        test_late_onset_averaging test_plain_has_no_average_attr
        test_sgd_averaged test_sgd_multiclass_average test_partial_fit_multiclass_average test_tol_parameter
        test_multi_thread_multi_class_and_early_stopping test_validation_ test_not_enough_sample
        test_sgd_early_stopping test_large_regularization""",
    "start": """test_provide_coef test_set_coef test_set_intercept test_sgd_multiclass_with_init_coef
        sgd:test_warm_start""",
    "stream": "test_partial_fit test_sgd_failing_penalty_validation_partial",
    "words": """test_negative_ test_inconsistent_input test_sparse_precomputed test_svc_nonfinite_params
        test_underflow_or_overflow test_enet_nonfinite_params test_svr_errors
        test_sgd_error_on_zero_validation
        test_svc_invalid_break_ties_param""",
    "options": """test_penalty_none test_probability_raises_futurewarning test_linearsvc_parameters
        test_svc_nusvc_probA_probB_deprecated test_lr_penalty_l1ratio_incompatible test_penalty_deprecated
        test_logisticregression_warns_with_n_jobs test_l1_ratio_non_elasticnet test_l1_ratio_None_deprecated
        test_liblinear_multiclass_raises test_elasticnet_l1_ratio_err_helpful test_check_solver_option
        test_error_interior_point_future test_enet_sample_weight_does_not_overwrite test_enet_copy_X
        test_overridden_gram_matrix test_lasso_alpha_warning test_elasticnet_precompute_incorrect_gram
        test_check_input_false test_sgd_failing_penalty_validation""",
    "more": """test_large_sparse_matrix test_bad_input test_liblinear_with_large_values
        test_input_format""",
    "private": """test_svc_raises_error_internal_representation test_gamma_scale test_tweak_params
        test_immutable_coef_property test_logreg_predict_proba_multinomial test_loss_function_epsilon
        test_sgd_predict_proba_method_access test_logistic_regression_callback test_hasattr_predict_proba
        test_probability test_multi_core_gridsearch test_logistic_cv_folds_with_classes_missing
        test_logistic_cv_multinomial_score""",
    "intercept": "test_dense_liblinear_intercept_handling test_sparse_liblinear_intercept_handling",
    "ties": """test_svc_ovr_tie_breaking test_sparse_decision_function test_sparse_realdata
        test_custom_kernel_not_array_input""",
    "digits": """test_enet_ols_consistency test_quantile_toy_example test_sgd_reg test_lasso_dual_gap
        test_dtype_match test_logistic_cv[ test_multinomial_identifiability_on_iris
        test_LogisticRegressionCV_on_folds""",
    "losses of SGD": "test_sgd_proba test_regression_losses",
    "no penalty": "test_svm_with_infinite_C test_logistic_regression_solvers_multiclass_unpenalized",
    "several targets": "test_enet_multitarget",
}
MISSES = ("losses of SGD", "no penalty")
KINDS = {name: MISSING if name in MISSES else CONVENTION for name in RULES}
# a rule of some tests of a module comes before one whose beginning is shorter
_BY_LENGTH = sorted(
    ((rule, name) for name, rules in RULES.items() for rule in rules.split()), key=lambda one: -len(one[0])
)


def reason(module, test, said):
    """The reason why this test fails; None if no rule knows."""
    for rule, name in _BY_LENGTH:
        of, _, start = rule.rpartition(":")
        if test.startswith(start) and of in ("", module):
            return name
    return None
