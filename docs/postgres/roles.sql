-- The role that everything but `perdure migrate` uses. Its password: \password perdure_app
CREATE ROLE perdure_app LOGIN;
